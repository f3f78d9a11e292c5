package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
)

// heardOf passes on what is written to it.
type heardOf chan string

func (h heardOf) Write(p []byte) (int, error) {
	h <- string(p)
	return len(p), nil
}

// A run that a board has asked to stop is aborted by the first signal: the board's stop was the first word.
func TestASignalAfterAStopFromElsewhere(t *testing.T) {
	t.Parallel()
	node := newSilent(t)
	_, port, _ := net.SplitHostPort(node.Addr().String())
	file := filepath.Join(t.TempDir(), "deploy.yaml")
	changes := strings.NewReplacer("port: 1,", "port: "+port+",", "eggo: {password-from: prompt}", "password: x")
	text := changes.Replace(operationtest.Nobody)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	aborted, said := 0, make(heardOf, 8)
	env := &environment{
		Stderr: said, P: i18n.NewPrinter(i18n.English), Getenv: func(string) string { return "" },
		State: t.TempDir(), Interrupts: &interrupts{cancel: func() { aborted++ }},
	}
	h, err := operation.Start(ctx, request.Deploy{Common: request.OfFile(file)}, env.host().Deps())
	if err != nil {
		t.Fatal(err)
	}
	end := env.stoppable(h)
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	<-said
	env.Interrupts.handle(os.Interrupt)
	if aborted != 1 {
		t.Errorf("aborted %d times", aborted)
	}
	node.letGo()
	cancel()
	<-h.Done()
	end()
}
