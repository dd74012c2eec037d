# ffmpeg with threads for frames and slices: makes, packs, filters and reads pictures and sound.
# label: long
# packages: ffmpeg
# At a constant quantizer, since what x264's lookahead decides among threads is not always the same.
quiet=(ffmpeg -hide_banner -loglevel error -nostdin -y)
"${quiet[@]}" -f lavfi -i testsrc2=size=480x270:rate=25:duration=3 -f lavfi -i sine=frequency=440:duration=3 \
  -threads 4 -c:v libx264 -preset veryfast -qp 28 -c:a aac -fflags +bitexact -flags +bitexact packed.mkv
sha256sum packed.mkv
"${quiet[@]}" -threads 4 -i packed.mkv -filter_complex_threads 4 \
  -filter_complex '[0:v]split[a][b];[a]hue=h=90,boxblur=3[c];[b][c]vstack,scale=320:360,noise=alls=0' -f framemd5 - | sha256sum
"${quiet[@]}" -threads 3 -i packed.mkv -c:v mpeg4 -c:a libmp3lame -fflags +bitexact -flags +bitexact second.avi
sha256sum second.avi
for i in $(seq 5); do ffprobe -v error -show_entries stream=codec_name,nb_read_frames -count_frames -of csv second.avi; done
