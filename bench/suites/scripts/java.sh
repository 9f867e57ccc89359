# needs java
cat > T.java <<'J'
public class T{static int f(int n){return n<2?n:f(n-1)+f(n-2);}static int deep(int n){return deep(n+1)+1;}
public static void main(String[] a)throws Exception{System.out.println(f(25));try{deep(0);}catch(StackOverflowError e){System.out.println("overflow");}
String s=null;int c=0;for(int i=0;i<20000;i++){try{s.length();}catch(NullPointerException e){c++;}}System.out.println(c);
Thread[] t=new Thread[20];long[] r=new long[20];for(int i=0;i<20;i++){final int k=i;t[i]=new Thread(()->{for(int j=0;j<10000;j++)r[k]+=new int[50].length;});t[i].start();}
for(Thread x:t)x.join();long z=0;for(long x:r)z+=x;System.out.println(z);System.gc();}}
J
java T.java
