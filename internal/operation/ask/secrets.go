package ask

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/config"
)

// WithAnswers returns an Asker that answers secrets itself where it has them by the ID of their question, and passes
// everything else on. A blank answer is none.
func WithAnswers(a Asker, answers map[string]string) Asker { return withAnswers{a, answers} }

type withAnswers struct {
	Asker
	answers map[string]string
}

// Ask implements Asker.
func (w withAnswers) Ask(ctx context.Context, q Question) (Answer, error) {
	if s, is := q.(Secret); is && !config.Blank(w.answers[s.ID]) {
		return Answer{Secret: w.answers[s.ID]}, nil
	}
	return w.Asker.Ask(ctx, q)
}

// WithStored returns an Asker that reads secrets from the environment or from files where deploy.yaml says so, and
// passes everything else on.
func WithStored(a Asker, getenv func(string) string) Asker { return withStored{a, getenv} }

type withStored struct {
	Asker
	getenv func(string) string
}

// Ask implements Asker.
func (w withStored) Ask(ctx context.Context, q Question) (Answer, error) {
	if s, is := q.(Secret); is && !typed(s) {
		v, err := w.read(s.From)
		return Answer{Secret: v}, err
	}
	return w.Asker.Ask(ctx, q)
}

// typed reports whether a user must type the secret.
func typed(s Secret) bool { return s.From == "" || s.From == "prompt" }

func (w withStored) read(from string) (string, error) {
	kind, rest, _ := strings.Cut(from, ":")
	switch kind {
	case "env":
		if v := w.getenv(rest); !config.Blank(v) {
			return v, nil
		}
		return "", fmt.Errorf("%s is not set or empty", rest)
	case "file":
		data, err := os.ReadFile(rest)
		if err == nil && config.Blank(string(data)) {
			err = fmt.Errorf("%s is empty", rest)
		}
		return strings.TrimRight(string(data), "\r\n"), err
	}
	return "", fmt.Errorf("unknown source %q", kind)
}

// Memory passes questions on and asks for each secret once.
type Memory struct {
	Asker
	// Blank keeps blank answers too; otherwise the question is repeated.
	Blank bool

	one  sync.Mutex // one secret at a time, so that others find the answer
	mu   sync.Mutex
	kept map[string]string
}

// Remember returns a Memory that has secrets by ID already.
func Remember(a Asker, known map[string]string) *Memory {
	m := &Memory{Asker: a, kept: map[string]string{}}
	maps.Copy(m.kept, known)
	return m
}

// Ask implements Asker.
func (m *Memory) Ask(ctx context.Context, q Question) (Answer, error) {
	s, is := q.(Secret)
	if !is || !typed(s) {
		return m.Asker.Ask(ctx, q)
	}
	m.one.Lock()
	defer m.one.Unlock()
	if v, ok := m.Secrets()[s.ID]; ok {
		return Answer{Secret: v}, nil
	}
	answer, err := m.Asker.Ask(ctx, q)
	if err == nil && (m.Blank || !config.Blank(answer.Secret)) {
		m.mu.Lock()
		m.kept[s.ID] = answer.Secret
		m.mu.Unlock()
	}
	return answer, err
}

// Secrets returns what was answered, by the ID of the question.
func (m *Memory) Secrets() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.kept)
}
