package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

func pad(s string, w int) string { return s + strings.Repeat(" ", max(0, w-document.Width(s))) }

func padLeft(s string, w int) string { return strings.Repeat(" ", max(0, w-document.Width(s))) + s }

func itoa(n int) string { return strconv.Itoa(n) }

// seconds with a tenth, for columns.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", max(0, d).Seconds()) }

// Short is a time for people: 0.4s, 42s, 3m05s, 1h02m.
func Short(d time.Duration) string {
	switch d = max(0, d); {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute-500*time.Millisecond:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

func took(d time.Duration) string { return " (" + Short(d) + ")" }

// Size in binary units with a tenth.
func Size(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		if f /= 1024; f < 1023.95 {
			return fmt.Sprintf("%.1f %s", f, unit)
		}
	}
	return fmt.Sprintf("%.1f TiB", f/1024)
}

// table lays out rows below a head, as Markdown that is also aligned for the eye. Columns whose name in align is 'r'
// are flush right.
func table(head []string, align string, rows [][]string) string {
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(cell, "|", "\\|")
			widths[i] = max(widths[i], document.Width(row[i]))
		}
	}
	var b strings.Builder
	write := func(row []string) {
		b.WriteString("|")
		for i, cell := range row {
			if align[i] == 'r' {
				cell = padLeft(cell, widths[i])
			} else {
				cell = pad(cell, widths[i])
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
	}
	write(head)
	b.WriteString("|")
	for i, w := range widths {
		if align[i] == 'r' {
			b.WriteString(strings.Repeat("-", w+1) + ":|")
		} else {
			b.WriteString(strings.Repeat("-", w+2) + "|")
		}
	}
	b.WriteString("\n")
	for _, row := range rows {
		write(row)
	}
	return b.String()
}

// Sized is a sentence whose argument "bytes" reads as people read sizes.
func Sized(m event.Msg) event.Msg {
	n, err := strconv.ParseInt(m.Args["bytes"], 10, 64)
	if err != nil {
		return m
	}
	return m.With("bytes", Size(n))
}

// AsOf is a sentence as of now: the time that is left is counted down, and sizes read as people read them.
func AsOf(m event.Msg, now time.Time) event.Msg {
	if end, ok := state.Until(m); ok {
		m = m.With("left", max(end.Sub(now), 0).Round(time.Second).String())
	}
	return Sized(m)
}

// Awaits says what a command of a node waits for.
func Awaits(p *i18n.Printer, w *event.Waiting) string {
	state := "report.process." + w.State
	if !p.Has(state) {
		state = "report.process"
	}
	args := []string{"process", cmp.Or(w.Process, "?"), "pid", strconv.Itoa(w.PID), "state", p.T(state), "lock", w.Lock,
		"lock-pid", strconv.Itoa(w.LockPID)}
	if w.Lock != "" {
		return p.T("report.awaits-lock", args...)
	}
	return p.T("report.awaits", args...)
}

// StepTitle returns the title of a step, with the number of the attempt if it is not the first. A step that polls has
// none: its tries are how it waits.
func StepTitle(p *i18n.Printer, st *state.Step, try int) string {
	title := p.Msg(st.Title)
	if try > 1 && !st.Polls {
		return p.T("ui.fail.try", "step", title, "try", strconv.Itoa(try))
	}
	return title
}
