package scratch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestMain is the programs, too: a copy of the test by the name of one behaves like it.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "etcd":
		os.Exit(etcd())
	case "etcdutl":
		os.Exit(etcdutl(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// etcdutl restores by a copy; a snapshot with the word bad is refused.
func etcdutl(args []string) int {
	text, err := os.ReadFile(args[2])
	if err != nil || strings.Contains(string(text), "bad") || os.Getenv("ETCD_NAME") != "" {
		fmt.Fprintln(os.Stderr, "Error: expected sha256 [1], got [2]")
		return 1
	}
	if strings.Contains(string(text), "full") {
		fmt.Fprintln(os.Stderr, "Error: write data/member/snap/db: no space left on device")
		return 1
	}
	if err := errors.Join(os.Mkdir(args[4], 0o700), os.WriteFile(args[4]+"/db", text, 0o600)); err != nil {
		return 1
	}
	return 0
}

type kv struct{ pb.UnimplementedKVServer }

func (*kv) Range(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	n := int64(7)
	if string(r.Key) == "/registry/namespaces/" {
		n = 4
	}
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: 4711}, Count: n}, nil
}

func etcd() int {
	if text, _ := os.ReadFile("data/db"); strings.Contains(string(text), "ends") {
		fmt.Fprintln(os.Stderr, "panic: freepages")
		return 2
	}
	l, err := net.Listen("unix", "clients:0")
	if err != nil {
		return 1
	}
	s := grpc.NewServer()
	pb.RegisterKVServer(s, &kv{})
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	go func() { <-stop; s.Stop() }()
	if err := s.Serve(l); err != nil {
		return 1
	}
	return 0
}

func programs(t *testing.T) Programs {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := Programs{Etcd: filepath.Join(dir, "etcd"), Etcdutl: filepath.Join(dir, "etcdutl")}
	if err := errors.Join(os.Symlink(self, p.Etcd), os.Symlink(self, p.Etcdutl)); err != nil {
		t.Fatal(err)
	}
	return p
}

// What etcd serves is read; a snapshot that etcdutl or etcd does not take is said in their words.
func TestAScratchEtcdServesASnapshot(t *testing.T) {
	p := programs(t)
	snapshot := filepath.Join(t.TempDir(), "etcd.db")
	t.Setenv("ETCD_NAME", "of the user")
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"good": "", "bad": "expected sha256", "ends": "ended by itself",
		"full": "no space"} {
		if err := os.WriteFile(snapshot, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		dir, code := filepath.Join(long, text), "backup.scratch"
		if text == "full" {
			code = "backup.scratch-space"
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		proof, err := Restore(t.Context(), dir, snapshot, p)
		if want == "" {
			if err != nil || *proof != (Proof{4711, 7, 4}) {
				t.Errorf("%+v %v", proof, err)
			}
			continue
		}
		if f := event.AsFault(err); f == nil || f.Code != code || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Restore(over, t.TempDir(), snapshot, p); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestProgramsOfThePath(t *testing.T) {
	p := programs(t)
	t.Setenv("PATH", filepath.Dir(p.Etcd))
	if got, err := Found(); err != nil || got != p {
		t.Errorf("%+v %v", got, err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Found(); err == nil {
		t.Error("found in an empty directory")
	}
}
