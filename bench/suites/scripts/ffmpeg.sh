# needs ffmpeg
ffmpeg -hide_banner -loglevel error -threads 2 -f lavfi -i testsrc=duration=1:size=160x120:rate=10 -c:v mpeg4 -f md5 -
