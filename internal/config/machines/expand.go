package machines

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var (
	brackets  = regexp.MustCompile(`\[([^\[\]]*)\]`)
	rangeItem = regexp.MustCompile(`\A([0-9]{1,9}|[a-zA-Z])(?:[-:~]([0-9]{1,9}|[a-zA-Z])(?::([0-9]{1,4}))?)?\z`)
	lastBytes = regexp.MustCompile(`\A((?:[0-9]{1,3}\.){3})([0-9]{1,3})[-~]((?:[0-9]{1,3}\.){3})?([0-9]{1,3})\z`)
)

// expand returns the words that a word with ranges stands for: node[1,3,5-9], www[01:12], 10.0.0.[11-13], 10.0.0.11-13,
// 10.0.0.11-10.0.0.13, and in steps as Ansible has them: node[1:9:2]. A word without one stands for itself.
func expand(word string) ([]string, *event.Msg) {
	if m := lastBytes.FindStringSubmatch(word); m != nil {
		if m[3] != "" && m[3] != m[1] {
			return nil, because("machines.range-wide", "word", word)
		}
		word = m[1] + "[" + m[2] + "-" + m[4] + "]"
	}
	out := []string{""}
	for {
		at := brackets.FindStringSubmatchIndex(word)
		if at == nil {
			break
		}
		items, why := itemsOf(word[at[2]:at[3]])
		if why != nil {
			return nil, why
		}
		if len(out)*len(items) > Most {
			return nil, because("machines.too-many", "limit", strconv.Itoa(Most))
		}
		var next []string
		for _, o := range out {
			for _, i := range items {
				next = append(next, o+word[:at[0]]+i)
			}
		}
		out, word = next, word[at[1]:]
	}
	if strings.ContainsAny(word, "[]") {
		return nil, because("machines.bracket", "word", word)
	}
	for i := range out {
		out[i] += word
	}
	return out, nil
}

func because(key string, kv ...string) *event.Msg {
	m := event.M(key, kv...)
	return &m
}

// itemsOf are the numbers or letters that stand between two brackets.
func itemsOf(text string) (out []string, why *event.Msg) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		m := rangeItem.FindStringSubmatch(part)
		if m == nil {
			return nil, because("machines.range", "word", "["+text+"]", "part", part)
		}
		if m[2] == "" {
			out = append(out, m[1])
			continue
		}
		run, why := runOf(m[1], m[2])
		if why != nil {
			return nil, why
		}
		step := 1
		if m[3] != "" {
			step, _ = strconv.Atoi(m[3]) // digits
		}
		if step == 0 {
			return nil, because("machines.range", "word", "["+text+"]", "part", part)
		}
		for i := 0; i < len(run); i += step {
			out = append(out, run[i])
		}
	}
	return out, nil
}

// runOf is all from one number or letter to another; numbers keep the zeros before them.
func runOf(from, to string) (out []string, why *event.Msg) {
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	letters := err1 != nil && err2 != nil
	if letters {
		a, b = int(from[0]), int(to[0])
	} else if err1 != nil || err2 != nil {
		return nil, because("machines.range", "word", from+"-"+to, "part", from+"-"+to)
	}
	if a > b {
		return nil, because("machines.range-backwards", "from", from, "to", to)
	}
	if b-a >= Most {
		return nil, because("machines.too-many", "limit", strconv.Itoa(Most))
	}
	for i := a; i <= b; i++ {
		s := string(rune(i))
		if !letters {
			s = strconv.Itoa(i)
			if from[0] == '0' && len(from) > 1 {
				s = strings.Repeat("0", max(0, len(from)-len(s))) + s
			}
		}
		out = append(out, s)
	}
	return out, nil
}

var (
	likeAddress = regexp.MustCompile(
		`\A(?:[0-9]+\.){2,}[0-9./:-]*\z|\A(?:[0-9]+\.){3}[^.]*\z|\A[0-9a-fA-F]*:[0-9a-fA-F:.%/]*\z`)
	network  = regexp.MustCompile(`\A[0-9a-fA-F.:]+/[0-9]{1,3}\z`)
	hostName = regexp.MustCompile(`\A[a-zA-Z0-9_](?:[a-zA-Z0-9_.-]*[a-zA-Z0-9])?\.?\z`)
)

// addresses reports whether all words are addresses. why: one looks like an address and is none.
func addresses(words []string) (all bool, why *event.Msg) {
	for _, w := range words {
		if _, err := netip.ParseAddr(w); err == nil {
			continue
		}
		switch {
		case network.MatchString(w):
			return false, because("machines.network", "word", w)
		case !likeAddress.MatchString(w):
			return false, nil
		}
		for b := range strings.SplitSeq(w, ".") {
			if n, err := strconv.Atoi(b); err == nil && n > 255 {
				return false, because("machines.octet", "word", w, "octet", b)
			}
		}
		return false, because("machines.address", "word", w)
	}
	return len(words) > 0, nil
}

// target is where a machine is reached: USER@HOST:PORT, of which only HOST must be there. HOST may have ranges.
type target struct {
	user, host, port string
}

var (
	v6AndPort   = regexp.MustCompile(`\A\[([0-9a-fA-F:.]*:[0-9a-fA-F:.]*)\](?::([0-9]+))?\z`)
	hostAndPort = regexp.MustCompile(`\A([^:]+):([0-9]+)\z`)
)

// targetOf takes a word apart.
func targetOf(word string) (t target) {
	word = strings.TrimSuffix(strings.TrimPrefix(word, "ssh://"), "/")
	if at := strings.LastIndex(word, "@"); at >= 0 {
		t.user, word = word[:at], word[at+1:]
	}
	if m := v6AndPort.FindStringSubmatch(word); m != nil {
		t.host, t.port = m[1], m[2]
		return t
	}
	t.host = word
	// a colon inside of brackets is a range
	if end := strings.LastIndex(word, "]"); strings.Contains(word[end+1:], ":") &&
		strings.Count(word[end+1:], ":") == 1 {
		if m := hostAndPort.FindStringSubmatch(word[end+1:]); m != nil {
			t.host, t.port = word[:end+1]+m[1], m[2]
		} else if end >= 0 {
			t.host, t.port, _ = strings.Cut(word[end+1:], ":")
			t.host = word[:end+1] + t.host
		}
	}
	return t
}

// portOf judges a port that was said.
func portOf(s string) *event.Msg {
	if n, err := strconv.Atoi(s); err != nil || n < 1 || n > 65535 {
		return because("machines.port", "word", s)
	}
	return nil
}
