package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
)

// maxSecret bounds a secret that is read.
const maxSecret = 64 << 10

// passphraseName is the file with the passphrase of a private key, beside it.
const passphraseName = "passphrase"

// secrets answers questions from files below a directory. It trusts no host key and no signer.
type secrets struct{ dir string }

// Ask implements ask.Asker.
func (s secrets) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	wanted, is := q.(ask.Secret)
	if !is {
		return ask.Nobody{}.Ask(ctx, q)
	}
	switch kind, path, _ := strings.Cut(wanted.From, ":"); kind {
	case "", "prompt":
		key, is := operation.KeyOf(wanted.ID)
		if !is {
			return ask.Answer{}, ask.ErrNobody
		}
		answer, err := s.read(filepath.Join(filepath.Dir(key), passphraseName))
		if errors.Is(err, os.ErrNotExist) {
			err = ask.ErrNobody
		}
		return answer, err
	case "file":
		return s.read(path)
	}
	return ask.Answer{}, fmt.Errorf("a run of the operator has no secrets in %q", wanted.From)
}

// read reads a secret. Links of a mounted Secret stay within its directory; others are not followed out of it.
func (s secrets) read(path string) (ask.Answer, error) {
	rel, err := filepath.Rel(s.dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return ask.Answer{}, fmt.Errorf("%s is not below %s", path, s.dir)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return ask.Answer{}, err
	}
	defer root.Close()
	f, err := root.Open(rel)
	if err != nil {
		return ask.Answer{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return ask.Answer{}, err
	case len(data) > maxSecret:
		return ask.Answer{}, fmt.Errorf("%s has more than %d KB", rel, maxSecret>>10)
	case config.Blank(string(data)):
		return ask.Answer{}, fmt.Errorf("%s is empty", rel)
	}
	return ask.Answer{Secret: string(bytes.TrimRight(data, "\r\n"))}, nil
}
