package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Machines that show one and the same key are said to.
func TestTheSameKeyLineByLine(t *testing.T) {
	t.Parallel()
	var said []string
	k := KeyTable{Printer: i18n.NewPrinter(i18n.English),
		Print: func(lines ...string) { said = append(said, lines...) },
		Line:  func(context.Context, string) (string, error) { return "n", nil }}
	if _, err := k.Ask(t.Context(), []ask.HostKey{{Node: "a", Addr: "192.0.2.1:22", Fingerprint: "SHA256:x"},
		{Node: "b", Addr: "192.0.2.2:22", Fingerprint: "SHA256:x"}}); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "! 2 machines show the same key: clones") {
		t.Error(text)
	}
}

// On the command line the keys are a table, a page at a time, with the choices that the screen has.
func TestTheTableOfKeysLineByLine(t *testing.T) {
	t.Parallel()
	var keys []ask.HostKey
	for i := range 25 {
		keys = append(keys, ask.HostKey{Node: fmt.Sprintf("n%d", i+1), Addr: fmt.Sprintf("192.0.2.%d:22", i+1),
			Type: "ssh-ed25519", Fingerprint: fmt.Sprintf("SHA256:%043d", i+1)})
	}
	known := func(path string, list []ask.HostKey) ([]ask.KeyCheck, error) {
		if path != "/Known" {
			return nil, errors.New("no such file")
		}
		out := make([]ask.KeyCheck, len(list))
		out[2], out[3] = ask.KeyVerified, ask.KeyDiffers
		return out, nil
	}
	for _, x := range []struct {
		name  string
		typed []string
		want  []int // from 1
		all   bool
		says  string
	}{
		{name: "all", typed: []string{"", "y"}, all: true, says: "20 of 25 shown"},
		{name: "stopped before the second page", typed: []string{"q"}},
		{name: "none", typed: []string{"", ""}},
		{name: "numbers and ranges", typed: []string{"", "1 3-5,25"}, want: []int{1, 3, 4, 5, 25}},
		{name: "a number that is none", typed: []string{"", "1 99", "2"}, want: []int{2},
			says: "No such choice: “99”"},
		{name: "those of the file", typed: []string{"", "o /nowhere", "o /Known", "", "v"}, want: []int{3},
			says: "no such file"},
		{name: "one that differs", typed: []string{"", "o /Known", "", "4", "1"}, want: []int{1},
			says: "n4: the file contains a different key"},
		{name: "all but what differs", typed: []string{"", "o /Known", "", "y"},
			want: append([]int{1, 2, 3}, slices.Collect(func(yield func(int) bool) {
				for i := 5; i <= 25; i++ {
					if !yield(i) {
						return
					}
				}
			})...), says: "differs from the file"},
		{name: "the end of the input", typed: nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			said := new(bytes.Buffer)
			typed := strings.Join(x.typed, "\n") + strings.Repeat("\n", min(1, len(x.typed)))
			term := Terminal{In: strings.NewReader(typed), Out: said, Printer: i18n.NewPrinter(i18n.English)}
			trusted, err := newConversation(term).hostKeys(t.Context(), keys, known)
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			for i := range keys {
				if want := x.all || slices.Contains(x.want, i+1); trusted[i] != want {
					t.Errorf("key %d: %v\n%s", i+1, trusted[i], said)
				}
			}
			if !strings.Contains(said.String(), x.says) || !strings.Contains(said.String(), "25 unknown host keys") {
				t.Errorf("%q is not said:\n%s", x.says, said)
			}
		})
	}
}
