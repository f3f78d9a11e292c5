package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/report"
)

// together is how long unknown host keys wait for company when nobody knows how many nodes there are, or one does not answer.
const together = time.Second

// keyRound brings unknown host keys together, so that those of all nodes are asked about at once.
type keyRound struct {
	ask func(ctx context.Context, keys []backend.HostKey) ([]bool, error)

	one   sync.Mutex // one question at a time
	mu    sync.Mutex
	open  []keyQuestion
	wait  *time.Timer
	total int // nodes that are contacted; 0 when nobody knows
	done  int // of them, that are over
}

type keyQuestion struct {
	key    backend.HostKey
	answer chan keyAnswer
}

type keyAnswer struct {
	yes bool
	err error
}

func (r *keyRound) expect(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total, r.done = n, 0
}

// met says that one more node is over: it has answered, or it will not.
func (r *keyRound) met(ctx context.Context) (done int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	r.arm(ctx)
	return r.done
}

func (r *keyRound) hostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	k := keyQuestion{backend.HostKey{Node: q.Node, Addr: q.Addr, Type: q.Type, Fingerprint: q.Fingerprint}, make(chan keyAnswer, 1)}
	r.mu.Lock()
	r.open = append(r.open, k)
	r.arm(ctx)
	r.mu.Unlock()
	select {
	case a := <-k.answer:
		return a.yes, a.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// arm asks at once when all nodes wait for the answer or are over, else when nothing has come for a while. The caller holds mu.
func (r *keyRound) arm(ctx context.Context) {
	if len(r.open) == 0 {
		return
	}
	if r.wait != nil {
		r.wait.Stop()
	}
	after := together
	if r.total > 0 && len(r.open)+r.done >= r.total {
		after = 0
	}
	r.wait = time.AfterFunc(after, func() { r.answer(ctx) })
}

// answer asks about the keys that have come together.
func (r *keyRound) answer(ctx context.Context) {
	r.one.Lock()
	defer r.one.Unlock()
	r.mu.Lock()
	list := r.open
	r.open = nil
	r.mu.Unlock()
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b keyQuestion) int { return byName(a.key.Node, b.key.Node) })
	var keys []backend.HostKey
	for _, k := range list {
		keys = append(keys, k.key)
	}
	trusted, err := r.ask(ctx, keys)
	for i, k := range list {
		k.answer <- keyAnswer{i < len(trusted) && trusted[i] && err == nil, err}
	}
}

// byName orders names with numbers at their ends as people count: n2 before n10.
func byName(a, b string) int {
	cut := func(s string) (string, int) {
		head := strings.TrimRight(s, "0123456789")
		n, _ := strconv.Atoi(s[len(head):]) // none is 0
		return head, n
	}
	x, i := cut(a)
	y, j := cut(b)
	if x != y {
		return strings.Compare(x, y)
	}
	return i - j
}

// comparedWith is what a known_hosts file says of keys.
func comparedWith(file string, keys []backend.HostKey) ([]backend.KeyCheck, error) {
	if rest, is := strings.CutPrefix(file, "~/"); is {
		if home, err := os.UserHomeDir(); err == nil {
			file = home + "/" + rest
		}
	}
	var asked []remote.HostKeyQuestion
	for _, k := range keys {
		asked = append(asked, remote.HostKeyQuestion{Node: k.Node, Addr: k.Addr, Type: k.Type, Fingerprint: k.Fingerprint})
	}
	matches, err := remote.CompareKeys(file, asked)
	var out []backend.KeyCheck
	for _, m := range matches {
		out = append(out, map[remote.KeyMatch]backend.KeyCheck{remote.KeyListed: backend.KeyVerified, remote.KeyDiffers: backend.KeyDiffers}[m])
	}
	return out, err
}

// lineInterface says whole lines and asks for them.
type lineInterface interface {
	print(lines ...string)
	line(ctx context.Context, prompt string) (string, error)
}

// keyTable asks about unknown host keys line by line: the same choices as in the table on the screen.
type keyTable struct {
	lineInterface
	t     func(key string, kv ...string) string
	fault func(err error)
	known backend.KnownHosts

	keys    []backend.HostKey
	checks  []backend.KeyCheck
	trusted []bool
}

// keysAPage is how many keys are shown before one is asked whether to go on: none is trusted that has scrolled by unseen.
const keysAPage = 20

// ask shows all keys and asks which are right.
func (k *keyTable) ask(ctx context.Context, keys []backend.HostKey) ([]bool, error) {
	k.keys, k.checks, k.trusted = keys, make([]backend.KeyCheck, len(keys)), make([]bool, len(keys))
	k.print(k.t("ask.title.keys", "count", strconv.Itoa(len(keys))), k.t("ask.keys"))
	if stop, err := k.show(ctx); err != nil || stop {
		return k.trusted, err
	}
	for {
		text, err := k.line(ctx, k.t("plain.which-keys"))
		if err != nil {
			return make([]bool, len(keys)), err
		}
		word, _, _ := strings.Cut(strings.ToLower(narrow(text)), " ")
		switch word {
		case "", "n", "no", "否":
			return make([]bool, len(keys)), nil
		case "y", "yes", "是":
			for i := range keys {
				k.trusted[i] = k.checks[i] != backend.KeyDiffers
			}
			return k.trusted, nil
		case "v":
			if slices.Contains(k.checks, backend.KeyVerified) {
				for i := range keys {
					k.trusted[i] = k.checks[i] == backend.KeyVerified
				}
				return k.trusted, nil
			}
		case "o":
			_, path, _ := strings.Cut(strings.TrimSpace(text), " ")
			if done := k.compare(strings.TrimSpace(path)); done {
				if stop, err := k.show(ctx); err != nil || stop {
					return k.trusted, err
				}
			}
			continue
		}
		if k.numbers(narrow(text)) {
			return k.trusted, nil
		}
	}
}

// show prints the table, a page at a time.
func (k *keyTable) show(ctx context.Context) (stop bool, err error) {
	rows := [][]string{{"", k.t("col.node"), k.t("col.address"), k.t("ask.keys.type"), k.t("ask.keys.fingerprint"), ""}}
	for i, x := range k.keys {
		check := ""
		if k.checks[i] != backend.KeyUnlisted {
			check = k.t("ask.key-check." + string(k.checks[i]))
		}
		rows = append(rows, []string{fmt.Sprintf("%2d", i+1), event.Clean(x.Node), event.Clean(x.Addr), event.Clean(x.Type), event.Clean(x.Fingerprint), check})
	}
	lines := report.Columns(rows)
	k.print(lines[0])
	for from := 1; from < len(lines); from += keysAPage {
		to := min(from+keysAPage, len(lines))
		k.print(lines[from:to]...)
		if to == len(lines) {
			break
		}
		text, err := k.line(ctx, k.t("ask.keys.more", "shown", strconv.Itoa(to-1), "of", strconv.Itoa(len(k.keys))))
		if err != nil || strings.TrimSpace(text) != "" {
			return true, err // nothing is trusted
		}
	}
	return false, nil
}

// compare compares with a known_hosts file; it says why that cannot be done.
func (k *keyTable) compare(path string) bool {
	checks, err := k.known(path, k.keys)
	if err != nil {
		k.fault(err)
		return false
	}
	k.checks = checks
	return true
}

// numbers trusts the keys with these numbers and ranges of numbers; false: one of them is none, or differs from the file's.
func (k *keyTable) numbers(text string) bool {
	picked := make([]bool, len(k.keys))
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;、", r) }) {
		low, high, is := strings.Cut(word, "-")
		if !is {
			high = low
		}
		from, ok := numbered(low, len(k.keys))
		to, ok2 := numbered(high, len(k.keys))
		if !ok || !ok2 || from > to {
			k.print(k.t("plain.no-such", "text", word))
			return false
		}
		for i := from; i <= to; i++ {
			if picked[i] = k.checks[i] != backend.KeyDiffers; !picked[i] {
				k.print(k.t("ask.keys.never", "node", k.keys[i].Node))
				return false
			}
		}
	}
	k.trusted = picked
	return true
}

// keysAtTerminal asks about keys at the terminal of a command line.
func keysAtTerminal(env *environment) func(context.Context, []backend.HostKey) ([]bool, error) {
	return func(ctx context.Context, keys []backend.HostKey) ([]bool, error) {
		t := &keyTable{lineInterface: terminalLines{env}, t: env.P.T, fault: func(err error) { printError(env, err) }, known: comparedWith}
		trusted, err := t.ask(ctx, keys)
		if errors.Is(err, context.Canceled) || ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return trusted, err
	}
}

// terminalLines are lines at the terminal of a command line: they go to stderr, beside what is asked for.
type terminalLines struct{ env *environment }

func (t terminalLines) print(lines ...string) {
	for _, l := range lines {
		fmt.Fprintln(t.env.Stderr, l)
	}
}

func (t terminalLines) line(ctx context.Context, prompt string) (string, error) {
	return askLine(ctx, t.env, prompt)
}
