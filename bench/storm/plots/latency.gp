# Small multiples: a panel a policy, all with the same axes.
load "style.gp"
panels = |titles|
columns = panels > 1 ? 2 : 1
rows = (panels + columns - 1) / columns

# Pixels, so that panels have the same size whatever their number.
top = 98; panel = 120; gap = 42; bottom = 66
height = top + rows * panel + (rows - 1) * gap + bottom
eval svg(1000, height)
set output output_file
left(i) = 0.085 + (i % columns) * 0.475
upper(i) = 1 - (top + (i / columns) * (panel + gap)) / real(height)

set xrange [0:last_second]
set yrange [0.05:highest_ms * 1.5]
set logscale y
set xtics 10
unset key
unlabelled_tics = "set %stics ('' 0.1, '' 1, '' 10, '' 100, '' 1000, '' 10000)"
set multiplot
set label 1 headline."\nMedians: writes of the shaded time, bulk until the engine has settled." \
  at screen 0.5, screen 1 - 24 / real(height) center
set object 1 rectangle from shade_begin, graph 0 to shade_end, graph 1 \
  fillcolor rgb shade fillstyle solid noborder behind
do for [i = 0:panels - 1] {
  set lmargin at screen left(i)
  set rmargin at screen left(i) + (columns == 2 ? 0.425 : 0.88)
  set tmargin at screen upper(i)
  set bmargin at screen upper(i) - panel / real(height)
  set label 2 titles[i + 1] at graph 0, graph 1.13 left
  eval sprintf(i % columns == 0 ? latency_tics : unlabelled_tics, "y")
  is_lowest = i + columns >= panels
  set format x (is_lowest ? "%g" : "")
  set xlabel (is_lowest ? "seconds" : "") offset 0, 0.3
  plot $series index i using 1:2 with filledcurves y1=0.05 lc rgb colours[i + 1] fillstyle transparent solid 0.18, \
       $series index i using 1:2 with lines lc rgb colours[i + 1] lw 2
  unset label 1
}
unset multiplot
