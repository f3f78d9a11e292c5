package server

import (
	"context"
	"errors"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
)

// Whoever asks for more backups than are opened at once waits, and waits no longer when the client has left.
func TestBackupsAreOpenedAFewAtOnce(t *testing.T) {
	s := &Server{opens: make(chan struct{}, opensAtOnce), Options: Options{
		Deps: func() operation.Deps { return operation.Deps{} }}}
	inside, leave := make(chan struct{}), make(chan struct{})
	ended := make(chan error, opensAtOnce)
	for range opensAtOnce {
		go func() {
			ended <- s.opening(t.Context(), BackupKey{Passphrase: "x"},
				func(request.BackupKey, operation.Deps) error {
					inside <- struct{}{}
					<-leave
					return nil
				})
		}()
		<-inside
	}
	gone, left := context.WithCancel(t.Context())
	left()
	never := func(request.BackupKey, operation.Deps) error {
		t.Error("one too many is opened")
		return nil
	}
	if err := s.opening(gone, BackupKey{}, never); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that left: %v", err)
	}
	close(leave)
	for range opensAtOnce {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	again := false
	err := s.opening(t.Context(), BackupKey{}, func(request.BackupKey, operation.Deps) error {
		again = true
		return nil
	})
	if err != nil || !again {
		t.Errorf("afterwards: %v, opened: %t", err, again)
	}
}
