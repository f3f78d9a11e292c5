package upstream

import (
	"fmt"
	"io"
	"time"
)

// talk is how often a step that is running is reported, at most.
const talk = 2 * time.Second

// Printer reports a build as lines of text: one when a step begins, one when it is done, and while it runs what it is
// at, every two seconds at most. If all is there, one line says so.
func Printer(w io.Writer) func(Progress) {
	present := 0
	var last time.Duration // of the build, when a line was printed
	return func(p Progress) {
		head := fmt.Sprintf("[%*d/%d] %s", len(fmt.Sprint(p.Steps)), p.Step, p.Steps, p.Title)
		switch {
		case p.State == Waiting:
			_, _ = fmt.Fprintln(w, "waiting for another build of the lab's upstream to end")
		case p.State == Present:
			if present++; present == p.Steps {
				_, _ = fmt.Fprintf(w, "the lab's upstream is all there (%d things, checked in %s)\n", p.Steps,
					p.Total.Round(time.Millisecond))
			}
		case p.State == Done:
			_, _ = fmt.Fprintf(w, "%s: done in %s\n", head, p.Elapsed.Round(100*time.Millisecond))
		case p.Line == "":
			last = p.Total
			_, _ = fmt.Fprintln(w, head)
		case p.Total-last >= talk:
			last = p.Total
			_, _ = fmt.Fprintf(w, "%s: %s, %s\n", head, p.Elapsed.Round(time.Second), p.Line)
		}
	}
}
