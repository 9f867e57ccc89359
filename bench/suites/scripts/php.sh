# needs php
php -r '$a=[];for($i=0;$i<300000;$i++)$a[]=md5($i);sort($a);echo $a[0],"\n";try{throw new Exception("x");}catch(Exception $e){echo $e->getMessage(),"\n";}'
