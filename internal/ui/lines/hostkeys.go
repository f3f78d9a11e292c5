package lines

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// KeyTable asks about unknown host keys line by line: the same choices as in the table on the screen.
type KeyTable struct {
	Print   func(lines ...string)
	Line    func(ctx context.Context, prompt string) (string, error) // asks for one
	Printer *i18n.Printer
	Fault   func(err error) // says why keys cannot be compared
	Known   ask.KnownHosts

	keys    []ask.HostKey
	checks  []ask.KeyCheck
	trusted []bool
}

// keysAPage is how many keys are shown before one is asked whether to go on: none is trusted that has scrolled by
// unseen.
const keysAPage = 20

func (k *KeyTable) t(key string, kv ...string) string { return k.Printer.T(key, kv...) }

// Ask shows all keys and asks which are right.
func (k *KeyTable) Ask(ctx context.Context, keys []ask.HostKey) ([]bool, error) {
	k.keys, k.checks, k.trusted = keys, make([]ask.KeyCheck, len(keys)), make([]bool, len(keys))
	k.Print(k.t("ask.title.keys", "count", strconv.Itoa(len(keys))), k.t("ask.keys"))
	if n := ask.SameKey(keys); n > 0 {
		k.Print("! " + k.t("ask.keys.same", "count", strconv.Itoa(n)))
	}
	if stop, err := k.show(ctx); err != nil || stop {
		return k.trusted, err
	}
	for {
		text, err := k.Line(ctx, k.t("plain.which-keys"))
		if err != nil {
			return make([]bool, len(keys)), err
		}
		word, _, _ := strings.Cut(strings.ToLower(narrow(text)), " ")
		switch word {
		case "", "n", "no", "否":
			return make([]bool, len(keys)), nil
		case "y", "yes", "是":
			for i := range keys {
				k.trusted[i] = k.checks[i] != ask.KeyDiffers
			}
			return k.trusted, nil
		case "v":
			if slices.Contains(k.checks, ask.KeyVerified) {
				for i := range keys {
					k.trusted[i] = k.checks[i] == ask.KeyVerified
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
func (k *KeyTable) show(ctx context.Context) (stop bool, err error) {
	rows := [][]string{{"", k.t("col.node"), k.t("col.address"), k.t("ask.keys.type"), k.t("ask.keys.fingerprint"), ""}}
	for i, x := range k.keys {
		check := ""
		if k.checks[i] != ask.KeyUnlisted {
			check = k.t("ask.key-check." + string(k.checks[i]))
		}
		name := event.Clean(x.Node)
		if x.Serves > 0 {
			name = k.t("ask.keys.bastion")
			check = strings.TrimSpace(k.t("ask.keys.serves", "count", strconv.Itoa(x.Serves)) + " " + check)
		}
		rows = append(rows, []string{fmt.Sprintf("%2d", i+1), name, event.Clean(x.Addr),
			event.Clean(x.Type), event.Clean(x.Fingerprint), check})
	}
	lines := document.Columns(rows)
	k.Print(lines[0])
	for from := 1; from < len(lines); from += keysAPage {
		to := min(from+keysAPage, len(lines))
		k.Print(lines[from:to]...)
		if to == len(lines) {
			break
		}
		text, err := k.Line(ctx, k.t("ask.keys.more", "shown", strconv.Itoa(to-1), "of", strconv.Itoa(len(k.keys))))
		if err != nil || strings.TrimSpace(text) != "" {
			return true, err // nothing is trusted
		}
	}
	return false, nil
}

// compare compares with a known_hosts file; it says why that cannot be done.
func (k *KeyTable) compare(path string) bool {
	checks, err := k.Known(path, k.keys)
	if err != nil {
		k.Fault(err)
		return false
	}
	k.checks = checks
	return true
}

// numbers trusts the keys with these numbers and ranges of numbers; false: one of them is none, or differs from the
// file's.
func (k *KeyTable) numbers(text string) bool {
	picked := make([]bool, len(k.keys))
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;、", r) }) {
		low, high, is := strings.Cut(word, "-")
		if !is {
			high = low
		}
		from, ok := numbered(low, len(k.keys))
		to, ok2 := numbered(high, len(k.keys))
		if !ok || !ok2 || from > to {
			k.Print(k.t("plain.no-such", "text", word))
			return false
		}
		for i := from; i <= to; i++ {
			if picked[i] = k.checks[i] != ask.KeyDiffers; !picked[i] {
				k.Print(k.t("ask.keys.never", "node", k.keys[i].Node))
				return false
			}
		}
	}
	k.trusted = picked
	return true
}
