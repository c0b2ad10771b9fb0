# weir at work: what it feels above, what it does about it below. A scenario a column.
load "style.gp"
columns = |headings|
eval svg(1000, 640)
set output output_file
width = columns == 2 ? 0.42 : 0.9
left(i) = 0.075 + i * 0.48
orange = colours[1]

set key horizontal bottom right at graph 1, graph 1.02 samplen 2 Left reverse width 1
set xtics 10
set multiplot
do for [i = 0:columns - 1] {
  set xrange [0:last_second[i + 1]]
  set lmargin at screen left(i)
  set rmargin at screen left(i) + width
  set object 1 rectangle from shade_begin[i + 1], graph 0 to shade_end[i + 1], graph 1 \
    fillcolor rgb shade fillstyle solid noborder behind

  set tmargin at screen 0.86
  set bmargin at screen 0.55
  set label 1 headings[i + 1] at screen left(i) + width / 2, screen 0.965 center
  set label 2 full at graph 0.995, first 1.08 right textcolor rgb "#404040"
  set yrange [0:1.2]
  set ytics 0.2
  set format x ""
  unset xlabel
  if (i == 0) { set ylabel "level" offset 1.5 } else { unset ylabel }
  plot 1 with lines lc rgb "#404040" lw 1 dt 3 notitle, \
       setpoint with lines lc rgb "black" lw 1.5 dt 2 title sprintf("setpoint %.2f", setpoint), \
       $series index 2 * i using 1:2 with lines lc rgb orange lw 2 title "level"
  unset label 1
  unset label 2

  set tmargin at screen 0.44
  set bmargin at screen 0.10
  set format x "%g"
  set xlabel "seconds" offset 0, 0.3
  set yrange [0:*]
  set ytics autofreq
  if (i == 0) { set ylabel "MB/s" offset 1.5 }
  plot $series index 2 * i + 1 using 1:2 with filledcurves y1=0 lc rgb "#b0b0b0" fillstyle solid 0.6 title "bulk", \
       $series index 2 * i using 1:4 with lines lc rgb "#0072b2" lw 2 dt 2 title "drain", \
       $series index 2 * i using 1:3 with lines lc rgb orange lw 2 title "limit"
}
unset multiplot
