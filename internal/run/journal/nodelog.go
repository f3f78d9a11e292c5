package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// nodeLogs keeps what each node printed, a file each, for people: "time step stream| line", and "time step cut| N
// lines, N bytes" where output is missing (the limits of remote). The files are opened for each flush: a thousand nodes
// need their descriptors for connections.
type nodeLogs struct {
	dir   string
	wait  map[string][]byte // by file name
	ready bool
	write func(f *os.File, text []byte) (int, error) // nil: as files do
}

func (n *nodeLogs) add(r event.Record) {
	o, ok := r.Event.(event.Output)
	if c, is := r.Event.(event.Notice); is && c.Text.Key == event.OutputCut {
		// Where lines are missing is said among them.
		o, ok = event.Output{Host: c.Host, Step: c.Step, Stream: "cut",
			Line: c.Text.Args["lines"] + " lines, " + c.Text.Args["bytes"] + " bytes"}, true
	}
	if !ok {
		return
	}
	if n.wait == nil {
		n.wait = map[string][]byte{}
	}
	var b strings.Builder
	for _, s := range []string{r.Time.UTC().Format("2006-01-02T15:04:05.000Z"), " ", event.Clean(o.Step), " ",
		event.Clean(o.Stream), "| ", event.Clean(o.Line), "\n"} {
		b.WriteString(s)
	}
	name := NodeLog(o.Host)
	n.wait[name] = append(n.wait[name], b.String()...)
}

func (n *nodeLogs) flush() error {
	if len(n.wait) > 0 && !n.ready {
		if err := os.MkdirAll(filepath.Join(n.dir, "nodes"), 0o700); err != nil {
			return err
		}
		n.ready = true
	}
	for name, text := range n.wait {
		f, err := os.OpenFile(filepath.Join(n.dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		write := n.write
		if write == nil {
			write = (*os.File).Write
		}
		written, err := write(f, text)
		n.wait[name] = text[written:] // what is there is not written again when the disk has room
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		delete(n.wait, name)
	}
	return nil
}

// NodeLog is the path of a node's log in the run directory; host "" is the jump host. Bytes that are not plain in a
// file name are written as %XX.
func NodeLog(host string) string {
	if host == "" {
		return "jump-host.log"
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(host) {
		c := host[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' ||
			c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return filepath.Join("nodes", b.String()+".log")
}
