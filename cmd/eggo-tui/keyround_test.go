package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/i18n"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// The keys of all nodes are one question, in the order of their names; a node that cannot be reached holds up nobody.
func TestKeysOfAllNodesAreOneQuestion(t *testing.T) {
	t.Parallel()
	var asked [][]backend.HostKey
	r := &keyRound{ask: func(_ context.Context, keys []backend.HostKey) ([]bool, error) {
		asked = append(asked, keys)
		out := make([]bool, len(keys))
		for i, k := range keys {
			out[i] = k.Node != "n7"
		}
		return out, nil
	}}
	const n = 60
	r.expect(n + 1)
	trusted := make([]bool, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			trusted[i], _ = r.hostKey(t.Context(), remote.HostKeyQuestion{Node: fmt.Sprintf("n%d", i+1)})
			r.met(t.Context())
		})
	}
	r.met(t.Context()) // one is unreachable
	all.Wait()
	if len(asked) != 1 || len(asked[0]) != n || asked[0][1].Node != "n2" || asked[0][9].Node != "n10" {
		t.Fatalf("%d questions: %v", len(asked), asked)
	}
	for i, yes := range trusted {
		if yes != (i != 6) {
			t.Errorf("n%d: %v", i+1, yes)
		}
	}
}

// On the command line the keys are a table, a page at a time, with the choices that the screen has.
func TestTheTableOfKeysLineByLine(t *testing.T) {
	t.Parallel()
	var keys []backend.HostKey
	for i := range 25 {
		keys = append(keys, backend.HostKey{Node: fmt.Sprintf("n%d", i+1), Addr: fmt.Sprintf("192.0.2.%d:22", i+1), Type: "ssh-ed25519", Fingerprint: fmt.Sprintf("SHA256:%043d", i+1)})
	}
	known := func(path string, list []backend.HostKey) ([]backend.KeyCheck, error) {
		if path != "/Known" {
			return nil, errors.New("no such file")
		}
		out := make([]backend.KeyCheck, len(list))
		out[2], out[3] = backend.KeyVerified, backend.KeyDiffers
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
		{name: "a number that is none", typed: []string{"", "1 99", "2"}, want: []int{2}, says: "There is no “99” here"},
		{name: "those of the file", typed: []string{"", "o /nowhere", "o /Known", "", "v"}, want: []int{3}, says: "no such file"},
		{name: "one that differs", typed: []string{"", "o /Known", "", "4", "1"}, want: []int{1}, says: "n4: the file has another key"},
		{name: "all but what differs", typed: []string{"", "o /Known", "", "y"}, want: append([]int{1, 2, 3}, slices.Collect(func(yield func(int) bool) {
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
			env := &environment{P: i18n.NewPrinter(i18n.English), Stderr: said, Stdin: strings.NewReader(strings.Join(x.typed, "\n") + strings.Repeat("\n", min(1, len(x.typed))))}
			k := &keyTable{lineInterface: terminalLines{env}, t: env.P.T, fault: func(err error) { printError(env, err) }, known: known}
			trusted, err := k.ask(t.Context(), keys)
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

// A known_hosts file is compared by address, port and type; a key that it calls revoked differs.
func TestComparedWithAFile(t *testing.T) {
	t.Parallel()
	const a = "AAAAC3NzaC1lZDI1NTE5AAAAIB1u8sdmYwyxHT1vs6vvE8Bx4y9uAPi4mM7CvZ4YvJ9a"
	const b = "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	file := filepath.Join(t.TempDir(), "known")
	text := "192.0.2.1 ssh-ed25519 " + a + "\n[192.0.2.2]:2222 ssh-ed25519 " + a + "\n@revoked * ssh-ed25519 " + b + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	key := func(addr, blob string) backend.HostKey {
		return backend.HostKey{Addr: addr, Type: "ssh-ed25519", Fingerprint: fingerprint(t, blob)}
	}
	got, err := comparedWith(file, []backend.HostKey{key("192.0.2.1:22", a), key("192.0.2.2:2222", a), key("192.0.2.2:22", a), key("192.0.2.1:22", b), key("192.0.2.9:22", b)})
	want := []backend.KeyCheck{backend.KeyVerified, backend.KeyVerified, backend.KeyUnlisted, backend.KeyDiffers, backend.KeyDiffers}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v, want %q", got, err, want)
	}
	if _, err := comparedWith(file+"x", nil); err == nil {
		t.Error("a file that is not there says nothing")
	}
}

func fingerprint(t *testing.T, blob string) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}
