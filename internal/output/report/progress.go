package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Row is one thing under way: a download, a bundle that is written, or the total of them.
type Row struct {
	Label string
	Arch  string
	Done  int64
	Total int64 // < 0 when unknown
	Meter *Meter
	Note  string // in place of the numbers: what it waits for
	Main  bool   // what a person looks at first
	Aside bool   // only the label, and quietly
}

// MostRows is how many things are shown at once.
const MostRows = 8

// Meter is how fast something moves, smoothed over some seconds so that the number can be read.
type Meter struct {
	started bool
	at      time.Time
	done    int64
	Rate    float64 // bytes a second
}

const (
	meterStep  = 500 * time.Millisecond
	meterOver  = 5 * time.Second
	slowest    = 1.0 // bytes a second: below this nothing is said of the time left
	everyDraw  = 100 * time.Millisecond
	everyLine  = 5 * time.Second
	EveryJSON  = time.Second
	widest     = 120 // columns: numbers far from their names cannot be read together
	tooNarrow  = 64  // columns: no room for bars and rates
	RestfulFor = 400 * time.Millisecond
)

// See takes how much is done by now.
func (m *Meter) See(now time.Time, done int64) {
	if !m.started || done < m.done {
		// A new beginning: what was there before was not brought by this run.
		m.started, m.at, m.done = true, now, done
		return
	}
	passed := now.Sub(m.at)
	if passed < meterStep {
		return
	}
	rate := float64(done-m.done) / passed.Seconds()
	if m.Rate == 0 {
		m.Rate = rate
	} else {
		m.Rate += (1 - math.Exp(-passed.Seconds()/meterOver.Seconds())) * (rate - m.Rate)
	}
	m.at, m.done = now, done
}

// Left is the time that remains, negative when it cannot be said.
func (m *Meter) Left(done, total int64) time.Duration {
	if total < done || m.Rate < slowest {
		return -1
	}
	return time.Duration(min(float64(total-done)/m.Rate, 1e6) * float64(time.Second))
}

// Progress shows what is under way: bars on a terminal, which are drawn over and over below what was said; a line every
// few seconds elsewhere; nothing by itself when the output is JSON. All of it happens within Change.
type Progress struct {
	Arches bool // rows say for which architecture they are

	o    ProgressOptions
	rows func() []Row  // what is under way now
	line func() string // the same in one line; "" for nothing

	mu     sync.Mutex
	drawn  []int // widths of the lines of the block that stands there
	last   time.Time
	ticker *time.Ticker
	ended  chan struct{}
	closed bool
}

// ProgressOptions say where progress is shown, and how.
type ProgressOptions struct {
	Out    io.Writer
	Now    func() time.Time
	Size   func() (cols, rows int) // of the terminal
	Bars   bool                    // Out is a terminal that can be drawn on
	Color  bool
	ASCII  bool
	Silent bool // nothing is shown but what is printed
}

// NewProgress shows rows on a terminal, and the line elsewhere.
func NewProgress(o ProgressOptions, rows func() []Row, line func() string) *Progress {
	return &Progress{o: o, rows: rows, line: line, last: o.Now()}
}

// Start draws by itself too, so that a standstill shows; Close ends it.
func (l *Progress) Start() *Progress {
	if l.o.Silent {
		return l
	}
	l.ticker, l.ended = time.NewTicker(2*everyDraw), make(chan struct{})
	go func() {
		for {
			select {
			case <-l.ticker.C:
				l.Change(func() {})
			case <-l.ended:
				return
			}
		}
	}()
	return l
}

// Close takes the bars away.
func (l *Progress) Close() {
	if l.ticker != nil {
		l.ticker.Stop()
		close(l.ended)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wipe()
	l.closed = true
}

// Change runs f, in which things move and Print may be called, and draws if it is time.
func (l *Progress) Change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	every := everyLine
	if l.o.Bars {
		every = everyDraw
	}
	if now := l.o.Now(); !l.o.Silent && !l.closed && now.Sub(l.last) >= every {
		l.last = now
		l.draw()
	}
}

// Print says something that stays, above what moves.
func (l *Progress) Print(w io.Writer, s string) {
	l.wipe()
	fmt.Fprintln(w, s)
}

func (l *Progress) wipe() {
	if len(l.drawn) > 0 {
		fmt.Fprint(l.o.Out, l.up(), ansi.EraseScreenBelow)
		l.drawn = nil
	}
}

// up goes back to the first line of the block; lines that a narrower window broke count as often as they are there now.
func (l *Progress) up() string {
	cols, _ := l.o.Size()
	n := 0
	for _, w := range l.drawn {
		n += max(1, (w+cols-1)/max(cols, 1))
	}
	if n == 0 {
		return ""
	}
	return "\r" + ansi.CursorUp(n)
}

func (l *Progress) draw() {
	if !l.o.Bars {
		if s := l.line(); s != "" {
			fmt.Fprintln(l.o.Out, s)
		}
		return
	}
	cols, lines := l.o.Size()
	rows := l.rows()
	if room := max(lines-2, 1); len(rows) > room {
		rows = rows[:room]
	}
	var b strings.Builder
	b.WriteString(ansi.SetModeSynchronizedOutput + l.up()) // in one go where the terminal can, so that nothing flickers
	l.drawn = l.drawn[:0]
	for _, r := range rows {
		s := l.Render(r, cols)
		l.drawn = append(l.drawn, ansi.StringWidth(s))
		b.WriteString(s + ansi.EraseLineRight + "\n")
	}
	b.WriteString(ansi.EraseScreenBelow + ansi.ResetModeSynchronizedOutput)
	fmt.Fprint(l.o.Out, b.String())
}

// The widths of the columns to the right of a bar: "99.9/99.9 MiB", "99.9 MiB/s", "9:59:59".
const (
	widthSize = 13
	widthRate = 10
	widthLeft = 7
	widthArch = 5
)

// Render makes a line that a terminal of so many columns has room for.
func (l *Progress) Render(r Row, cols int) string {
	cols = min(cols, widest) - 1
	if r.Aside {
		return "  " + l.paint("2", ansi.Truncate(r.Label, cols-2, "…"))
	}
	rest, bar := cols-2-2-widthSize-2-widthLeft, 0
	wide := cols+1 >= tooNarrow
	if l.Arches {
		rest -= 2 + widthArch
	}
	if wide {
		rest -= 2 + widthRate + 2
		bar = max(rest*3/8, 8)
	}
	label := fit(r.Label, max(rest-bar, 8))
	if r.Main {
		label = l.paint("1", label)
	}
	s := "  " + label
	if l.Arches {
		s += "  " + l.paint("2", fit(r.Arch, widthArch))
	}
	if r.Note != "" {
		return ansi.Truncate(s+"  "+l.paint("33", r.Note), cols, "…")
	}
	amount, rate, left := Amount(r.Done), "", ""
	if r.Total >= 0 {
		amount = AmountOf(min(r.Done, r.Total), r.Total)
	}
	if r.Meter != nil && r.Meter.Rate >= slowest {
		rate = Amount(int64(r.Meter.Rate)) + "/s"
		if d := r.Meter.Left(r.Done, r.Total); d >= 0 {
			left = Clock(d)
		}
	}
	if wide {
		s += "  " + l.bar(r, bar)
	}
	s += "  " + padLeft(amount, widthSize)
	if wide {
		s += "  " + l.paint("2", padLeft(rate, widthRate))
	}
	return ansi.Truncate(s+"  "+padLeft(left, widthLeft), cols, "")
}

func (l *Progress) bar(r Row, width int) string {
	full, empty := "━", "─"
	if l.o.ASCII {
		full, empty = "=", "-"
	}
	n := 0
	if r.Total > 0 {
		n = int(min(r.Done, r.Total) * int64(width) / r.Total)
	} else if r.Total == 0 {
		n = width
	}
	if r.Total < 0 {
		return l.paint("2", strings.Repeat("·", width))
	}
	color := "36"
	if r.Main {
		color = "32"
	}
	return l.paint(color, strings.Repeat(full, n)) + l.paint("2", strings.Repeat(empty, width-n))
}

func (l *Progress) paint(sgr, s string) string {
	if !l.o.Color || s == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[m"
}

// fit brings a name to a width: of one that is too long, what stands before the last slash goes first.
func fit(s string, width int) string {
	if ansi.StringWidth(s) > width {
		s = s[strings.LastIndexByte(s, '/')+1:]
	}
	s = ansi.Truncate(s, width, "…")
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// Sentence is a row as a sentence, of what is known.
func (t Row) Sentence(p *i18n.Printer) string {
	args := []string{"label", t.Label, "done", Amount(t.Done), "rate", Amount(int64(t.Meter.Rate))}
	key := "bundle.cli.line"
	switch left := t.Meter.Left(t.Done, t.Total); {
	case t.Total < 0 && t.Meter.Rate < slowest:
		key = "bundle.cli.line.done"
	case t.Total < 0:
	case left < 0:
		key, args = "bundle.cli.line.of", append(args, "total", Amount(t.Total))
	default:
		key, args = "bundle.cli.line.total", append(args, "total", Amount(t.Total), "left", Clock(left))
	}
	return p.T(key, args...)
}
