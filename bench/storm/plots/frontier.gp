# What bulk work costs those who wait. Down and to the right is better.
load "style.gp"
eval svg(1000, 600)
set output output_file
set title "Burst: a point is a policy; a line, a policy while its knob is turned between the numbers"
set xlabel "bulk MB/s, until the engine has settled"
set ylabel "p99.9 of interactive writes" offset 0.5
set logscale y
eval sprintf(latency_tics, "y")
set offsets graph 0.05, graph 0.08, graph 0, graph 0
set key outside right center Left reverse samplen 2 spacing 1.3
set label "better ↘" at graph 0.98, graph 0.05 right textcolor rgb "#404040"
do for [i = 1:|$first_knobs|] {
  knob = $first_knobs[i]
  set label word(knob, 3) at word(knob, 1) + 0, word(knob, 2) + 0 \
    right offset -0.8, 0 font ",13" textcolor rgb "#404040"
}
do for [i = 1:|$last_knobs|] {
  knob = $last_knobs[i]
  set label word(knob, 3) at word(knob, 1) + 0, word(knob, 2) + 0 \
    left offset 0.8, 0 font ",13" textcolor rgb "#404040"
}
plot for [i = 1:|names|] $series index i - 1 using 1:2:3 with linespoints \
  lc rgb colours[i] lw widths[i] dt dashes[i] pt points[i] ps variable title names[i]
