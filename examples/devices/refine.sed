s/e-[0-9]+/e-X/g
s/ [0-9]e-X/ Xe-X/g
