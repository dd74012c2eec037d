# ImageMagick with OpenMP's threads: makes, filters, scales and compares pictures.
export OMP_NUM_THREADS=4
convert -size 500x400 gradient:red-blue -swirl 200 first.png
convert first.png -blur 0x3 -sharpen 0x1 -rotate 30 -resize 320x240! second.png
convert second.png \( +clone -flip -negate \) -compose multiply -composite -colors 40 third.gif
for picture in first.png second.png third.gif; do identify -format '%m %w %h %#\n' $picture; done
convert first.png -resize 50% -distort Arc 60 -quality 80 fourth.jpg
identify -format '%m %w %h\n' fourth.jpg
