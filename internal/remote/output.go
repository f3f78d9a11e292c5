package remote

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Limits bound what the nodes of a run print into its log, in bytes; a line costs lineCost beside its own. They count
// on this side, so that no node gets round them. A command that prints more goes on: of the rest only its last lines
// are kept, and how much it was is said. Zeros mean the defaults in brackets.
type Limits struct {
	Step  int64 // of one step (2 MiB)
	Node  int64 // of one node (16 MiB)
	Run   int64 // of all nodes together (512 MiB)
	Tails int64 // of one node, beside these: the last lines of its commands that printed more (512 KiB)
}

func (l *Limits) fill() {
	def := func(n *int64, v int64) {
		if *n <= 0 {
			*n = v
		}
	}
	def(&l.Step, 2<<20)
	def(&l.Node, 16<<20)
	def(&l.Run, 512<<20)
	def(&l.Tails, 512<<10)
}

const (
	lineCost  = 192      // what the event log and the node's log write beside the text of a line
	tailBytes = 16 << 10 // of each stream of a command that are kept for the end
	tailLines = 50       // of them that are shown
)

// purse is what a node may still print.
type purse struct {
	limits Limits
	run    *atomic.Int64 // spent by all nodes

	mu    sync.Mutex
	node  int64 // spent
	tails int64 // spent on last lines
	steps map[string]int64
	told  map[string]bool // which limits are known to be used up
}

// pay takes what a line costs. It names the limit that is used up, if there is one, and says whether that is news.
func (p *purse) pay(step string, bytes int) (limit string, news bool) {
	cost := int64(bytes + lineCost)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.run.Load()+cost > p.limits.Run:
		limit = "run"
	case p.node+cost > p.limits.Node:
		limit = "node"
	case p.steps[step]+cost > p.limits.Step:
		limit = "step"
	default:
		p.run.Add(cost)
		p.node += cost
		if p.steps == nil {
			p.steps = map[string]int64{}
		}
		p.steps[step] += cost
		return "", false
	}
	key := limit
	if limit == "step" {
		key += " " + step
	}
	news = !p.told[key]
	if p.told == nil {
		p.told = map[string]bool{}
	}
	p.told[key] = true
	return limit, news
}

// reserve is what the last lines of a command may cost: a quarter of what is left for them, so that a later command has
// a last word, too.
func (p *purse) reserve() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := (p.limits.Tails - p.tails) / 4
	p.tails += n
	return n
}

// giveBack returns what was not needed of it.
func (p *purse) giveBack(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tails -= n
}

// printed is what one command prints, on its way into the log.
type printed struct {
	host, step string
	purse      *purse
	emit       func(event.Event)

	mu      sync.Mutex
	over    bool // the command has ended, or was given up
	limit   string
	streams [2]stream
	since   clock // its last line, or its beginning
}

// stream is standard output or standard error.
type stream struct {
	name  string
	lines lines
	rest  tail  // of what went beyond the limit
	size  int64 // of what went beyond the limit, in bytes and in lines
	count int64
}

func (h *Host) printed(step string) *printed {
	p := &printed{host: h.target.Name, step: step, purse: &h.purse, emit: h.opt.Emit, since: newClock(h.opt.Now)}
	for i, name := range []string{"stdout", "stderr"} {
		p.streams[i] = stream{name: name, rest: tail{n: tailBytes}, lines: lines{emit: func(l string) { p.line(i, l) }}}
	}
	return p
}

// write takes what came of a stream.
func (p *printed) write(i int, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.since.reset()
	if s := &p.streams[i]; p.limit != "" {
		s.keep(s.lines.buf) // what came of its last line before
		s.lines.buf = nil
		s.keep(b)
	} else {
		s.lines.write(b)
	}
}

// line takes a line of a stream. The caller holds mu.
func (p *printed) line(i int, l string) {
	s := &p.streams[i]
	if p.limit != "" { // since the lines before it in the same piece
		s.keep([]byte(l + "\n"))
		return
	}
	l = event.Clip(l, event.MaxLine)
	limit, news := p.purse.pay(p.step, len(l))
	if limit == "" {
		p.emit(event.Output{Host: p.host, Step: p.step, Stream: s.name, Line: l})
		return
	}
	p.limit = limit
	s.keep([]byte(l + "\n"))
	if news {
		p.emit(event.Notice{Host: p.host, Step: p.step, Text: event.M("output.full-" + limit)})
	}
}

func (s *stream) keep(b []byte) {
	s.size += int64(len(b))
	s.count += int64(bytes.Count(b, []byte{'\n'}))
	s.rest.write(b)
}

// ended is called when a stream is over, so that its last line need not end.
func (p *printed) ended(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := &p.streams[i]; !p.over && p.limit == "" {
		s.lines.close()
	}
}

// end is called when the command is over. What was left out is said, and its last lines follow, as far as the node's
// purse goes: they say how it ended.
func (p *printed) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	var last [2][]string
	var price [2]int64
	var size, count int64
	for i := range p.streams {
		s := &p.streams[i]
		last[i] = s.last()
		price[i] = cost(last[i])
		size, count = size+s.size, count+s.count
	}
	if size == 0 {
		return
	}
	room := p.purse.reserve()
	shares := [2]int64{room - min(price[1], room/2), room - min(price[0], room/2)}
	for i := range last {
		last[i] = fit(last[i], shares[i])
		room -= cost(last[i])
		for _, l := range last[i] {
			size -= int64(len(l) + 1)
			count--
		}
	}
	p.purse.giveBack(room)
	if size > 0 {
		p.emit(event.Notice{Host: p.host, Step: p.step, Text: event.M(event.OutputCut,
			"lines", strconv.FormatInt(max(1, count), 10), "bytes", strconv.FormatInt(size, 10))})
	}
	for i, lines := range last {
		for _, l := range lines {
			p.emit(event.Output{Host: p.host, Step: p.step, Stream: p.streams[i].name,
				Line: event.Clip(l, event.MaxLine)})
		}
	}
}

// cost of lines in the log.
func cost(lines []string) (n int64) {
	for _, l := range lines {
		n += int64(min(len(l), event.MaxLine) + lineCost)
	}
	return n
}

// fit are the last of the lines that cost no more than room.
func fit(lines []string, room int64) []string {
	first := len(lines)
	for ; first > 0; first-- {
		if room -= cost(lines[first-1 : first]); room < 0 {
			break
		}
	}
	return lines[first:]
}

// last are the last whole lines of what went beyond the limit.
func (s *stream) last() []string {
	b := s.rest.bytes()
	if len(b) == 0 {
		return nil
	}
	if b[len(b)-1] != '\n' { // a last line counts, though it does not end
		s.keep([]byte{'\n'})
		b = s.rest.bytes()
	}
	b = b[:len(b)-1]
	if int64(len(b))+1 < s.size { // its beginning is the end of a line
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	lines := strings.Split(string(b), "\n")
	return lines[max(0, len(lines)-tailLines):]
}
