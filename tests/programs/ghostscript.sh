# Text and bounding boxes of the first pages of a large PDF file.
pdf=/usr/share/doc/r-doc-pdf/manual/refman.pdf
gs -q -dBATCH -dNOPAUSE -dSAFER -sDEVICE=txtwrite -dFirstPage=1 -dLastPage=12 \
   -sOutputFile=text "$pdf"
sha256sum text
gs -q -dBATCH -dNOPAUSE -dSAFER -sDEVICE=bbox -dFirstPage=20 -dLastPage=28 "$pdf" 2>&1
