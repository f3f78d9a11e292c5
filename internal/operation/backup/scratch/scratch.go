// Package scratch proves a snapshot by a real etcd on the control host: etcdutl restores it into an empty directory,
// and etcd serves what is in it. It listens on sockets in that directory alone, which only the user can enter. It may
// import event.
package scratch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	restoreIn = 30 * time.Minute
	startIn   = 5 * time.Minute
	stopIn    = 20 * time.Second
	member    = "scratch"
	peers     = "unix://peers:0"
	clients   = "clients:0" // a socket of this name in the member's directory
)

// Programs are those that are used, as absolute paths.
type Programs struct{ Etcd, Etcdutl string }

// Found are the programs of the PATH.
func Found() (Programs, error) {
	etcd, err := exec.LookPath("etcd")
	utl, err2 := exec.LookPath("etcdutl")
	return Programs{etcd, utl}, errors.Join(err, err2)
}

// Proof is what etcd said of the restored data.
type Proof struct {
	Revision   int64
	Keys       int64 // of Kubernetes
	Namespaces int64
}

// Restore restores a snapshot below dir, has etcd serve it, reads it and stops etcd. Nothing is left but what lies
// below dir. Its faults have the codes backup.scratch, and backup.scratch-space when the disk is full.
func Restore(ctx context.Context, dir, snapshot string, p Programs) (*Proof, error) {
	proof, err := restore(ctx, dir, snapshot, p)
	if err == nil || ctx.Err() != nil {
		return proof, errors.Join(err, ctx.Err())
	}
	if strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		return nil, event.NewFault(event.ClassFailed, "backup.scratch-space", err, "dir", dir)
	}
	return nil, event.NewFault(event.ClassFailed, "backup.scratch", err)
}

func restore(ctx context.Context, dir, snapshot string, p Programs) (*Proof, error) {
	// The programs end with the thread that started them.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	data := filepath.Join(dir, "data")
	short, cancel := context.WithTimeout(ctx, restoreIn)
	defer cancel()
	out := &tail{}
	cmd := command(short, dir, p.Etcdutl, out, "snapshot", "restore", snapshot, "--data-dir", data, "--name", member,
		"--initial-cluster", member+"="+peers, "--initial-advertise-peer-urls", peers)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("etcdutl: %w: %s", err, out)
	}
	out = &tail{}
	cmd = command(ctx, dir, p.Etcd, out, "--data-dir", data, "--name", member, "--initial-cluster", member+"="+peers,
		"--initial-advertise-peer-urls", peers, "--listen-peer-urls", peers,
		"--listen-client-urls", "unix://"+clients, "--advertise-client-urls", "unix://"+clients)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(over)
	}()
	proof, err := read(ctx, dir, over)
	_ = cmd.Process.Signal(os.Interrupt)
	select {
	case <-over:
	case <-time.After(stopIn):
		_ = cmd.Process.Kill()
		<-over
	}
	if err != nil {
		return nil, fmt.Errorf("etcd: %w: %s", err, out)
	}
	return proof, nil
}

// command is one that ends with this process, also if that is killed.
func command(ctx context.Context, dir, program string, out io.Writer, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir} // nothing of ETCD_… that the user has set
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// errEnded: etcd ended by itself.
var errEnded = errors.New("it ended by itself")

// read asks etcd until it answers or ends. Its socket is reached by the open directory: the path of one may have no
// more than 107 bytes.
func read(ctx context.Context, dir string, over <-chan struct{}) (*Proof, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	socket := fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), clients)
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"passthrough:///scratch"}, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(dial)}})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, startIn)
	defer cancel()
	for {
		one, done := context.WithTimeout(ctx, 2*time.Second)
		got, err := c.Get(one, "/registry/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err == nil {
			var ns *clientv3.GetResponse
			ns, err = c.Get(one, "/registry/namespaces/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err == nil {
				done()
				return &Proof{got.Header.Revision, got.Count, ns.Count}, nil
			}
		}
		done()
		select {
		case <-over:
			return nil, errEnded
		case <-ctx.Done():
			return nil, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tail keeps the end of what a program says.
type tail struct{ buf bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.buf.Write(p)
	if n := t.buf.Len(); n > 8192 {
		t.buf.Next(n - 4096)
	}
	return len(p), nil
}

func (t *tail) String() string {
	lines := strings.Split(strings.TrimSpace(t.buf.String()), "\n")
	return event.Clean(lines[len(lines)-1])
}
