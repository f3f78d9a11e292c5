package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// row is one thing under way: a download, a bundle that is written, or the total of them.
type row struct {
	label string
	arch  string
	done  int64
	total int64 // < 0 when unknown
	meter *meter
	note  string // in place of the numbers: what it waits for
	main  bool   // what a person looks at first
	aside bool   // only the label, and quietly
}

// meter is how fast something moves, smoothed over some seconds so that the number can be read.
type meter struct {
	started bool
	at      time.Time
	done    int64
	rate    float64 // bytes a second
}

const (
	meterStep  = 500 * time.Millisecond
	meterOver  = 5 * time.Second
	slowest    = 1.0 // bytes a second: below this nothing is said of the time left
	everyDraw  = 100 * time.Millisecond
	everyLine  = 5 * time.Second
	everyJSON  = time.Second
	widest     = 120 // columns: numbers far from their names cannot be read together
	tooNarrow  = 64  // columns: no room for bars and rates
	restfulFor = 400 * time.Millisecond
)

func (m *meter) see(now time.Time, done int64) {
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
	if m.rate == 0 {
		m.rate = rate
	} else {
		m.rate += (1 - math.Exp(-passed.Seconds()/meterOver.Seconds())) * (rate - m.rate)
	}
	m.at, m.done = now, done
}

// left is the time that remains, negative when it cannot be said.
func (m *meter) left(done, total int64) time.Duration {
	if total < done || m.rate < slowest {
		return -1
	}
	return time.Duration(min(float64(total-done)/m.rate, 1e6) * float64(time.Second))
}

// live shows what is under way: bars on a terminal, which are drawn over and over below what was said; a line every few seconds
// elsewhere; nothing by itself when the output is JSON. All of it happens within change.
type live struct {
	env   *environment
	bars  bool
	rows  func() []row  // what is under way now
	line  func() string // the same in one line; "" for nothing
	color bool
	ascii bool

	arches bool // rows say for which architecture they are

	mu     sync.Mutex
	drawn  []int // widths of the lines of the block that stands there
	last   time.Time
	ticker *time.Ticker
	ended  chan struct{}
	closed bool
}

func newLive(env *environment, rows func() []row, line func() string) *live {
	l := &live{env: env, rows: rows, line: line, last: env.Now()}
	l.bars = env.Terminal && !env.json && env.Getenv("TERM") != "dumb"
	l.color = l.bars && env.Getenv("NO_COLOR") == ""
	locale := env.Getenv("LC_ALL") + env.Getenv("LC_CTYPE") + env.Getenv("LANG")
	l.ascii = !strings.Contains(strings.ReplaceAll(strings.ToLower(locale), "-", ""), "utf8")
	return l
}

// start draws by itself too, so that a standstill shows; close ends it.
func (l *live) start() *live {
	if l.env.json {
		return l
	}
	l.ticker, l.ended = time.NewTicker(2*everyDraw), make(chan struct{})
	go func() {
		for {
			select {
			case <-l.ticker.C:
				l.change(func() {})
			case <-l.ended:
				return
			}
		}
	}()
	return l
}

// close takes the bars away.
func (l *live) close() {
	if l.ticker != nil {
		l.ticker.Stop()
		close(l.ended)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wipe()
	l.closed = true
}

// change runs f, in which things move and print may be called, and draws if it is time.
func (l *live) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	every := everyLine
	if l.bars {
		every = everyDraw
	}
	if now := l.env.Now(); !l.env.json && !l.closed && now.Sub(l.last) >= every {
		l.last = now
		l.draw()
	}
}

// print says something that stays, above what moves.
func (l *live) print(w io.Writer, s string) {
	l.wipe()
	fmt.Fprintln(w, s)
}

func (l *live) wipe() {
	if len(l.drawn) > 0 {
		fmt.Fprint(l.env.Stderr, l.up(), ansi.EraseScreenBelow)
		l.drawn = nil
	}
}

// up goes back to the first line of the block; lines that a narrower window broke count as often as they are there now.
func (l *live) up() string {
	cols, _ := l.env.Size()
	n := 0
	for _, w := range l.drawn {
		n += max(1, (w+cols-1)/max(cols, 1))
	}
	if n == 0 {
		return ""
	}
	return "\r" + ansi.CursorUp(n)
}

func (l *live) draw() {
	if !l.bars {
		if s := l.line(); s != "" {
			fmt.Fprintln(l.env.Stderr, s)
		}
		return
	}
	cols, lines := l.env.Size()
	rows := l.rows()
	if room := max(lines-2, 1); len(rows) > room {
		rows = rows[:room]
	}
	var b strings.Builder
	b.WriteString(ansi.SetModeSynchronizedOutput + l.up()) // in one go where the terminal can, so that nothing flickers
	l.drawn = l.drawn[:0]
	for _, r := range rows {
		s := l.render(r, min(cols, widest)-1)
		l.drawn = append(l.drawn, ansi.StringWidth(s))
		b.WriteString(s + ansi.EraseLineRight + "\n")
	}
	b.WriteString(ansi.EraseScreenBelow + ansi.ResetModeSynchronizedOutput)
	fmt.Fprint(l.env.Stderr, b.String())
}

// The widths of the columns to the right of a bar: "99.9/99.9 MiB", "99.9 MiB/s", "9:59:59".
const (
	widthSize = 13
	widthRate = 10
	widthLeft = 7
	widthArch = 5
)

// render makes one line of at most cols cells.
func (l *live) render(r row, cols int) string {
	if r.aside {
		return "  " + l.paint("2", ansi.Truncate(r.label, cols-2, "…"))
	}
	rest, bar := cols-2-2-widthSize-2-widthLeft, 0
	wide := cols+1 >= tooNarrow
	if l.arches {
		rest -= 2 + widthArch
	}
	if wide {
		rest -= 2 + widthRate + 2
		bar = max(rest*3/8, 8)
	}
	label := fit(r.label, max(rest-bar, 8))
	if r.main {
		label = l.paint("1", label)
	}
	s := "  " + label
	if l.arches {
		s += "  " + l.paint("2", fit(r.arch, widthArch))
	}
	if r.note != "" {
		return ansi.Truncate(s+"  "+l.paint("33", r.note), cols, "…")
	}
	amount, rate, left := size(r.done), "", ""
	if r.total >= 0 {
		amount = sized(min(r.done, r.total), r.total)
	}
	if r.meter != nil && r.meter.rate >= slowest {
		rate = size(int64(r.meter.rate)) + "/s"
		if d := r.meter.left(r.done, r.total); d >= 0 {
			left = clock(d)
		}
	}
	if wide {
		s += "  " + l.bar(r, bar)
	}
	s += "  " + leftPad(amount, widthSize)
	if wide {
		s += "  " + l.paint("2", leftPad(rate, widthRate))
	}
	return ansi.Truncate(s+"  "+leftPad(left, widthLeft), cols, "")
}

func (l *live) bar(r row, width int) string {
	full, empty := "━", "─"
	if l.ascii {
		full, empty = "=", "-"
	}
	n := 0
	if r.total > 0 {
		n = int(min(r.done, r.total) * int64(width) / r.total)
	} else if r.total == 0 {
		n = width
	}
	if r.total < 0 {
		return l.paint("2", strings.Repeat("·", width))
	}
	color := "36"
	if r.main {
		color = "32"
	}
	return l.paint(color, strings.Repeat(full, n)) + l.paint("2", strings.Repeat(empty, width-n))
}

func (l *live) paint(sgr, s string) string {
	if !l.color || s == "" {
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

func leftPad(s string, width int) string {
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(s))) + s
}
