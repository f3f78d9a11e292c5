package ui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/testkit/ptytest"
	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// Bubble Tea waits until the terminal has something to read. A paste of any length arrives whole, and nothing of it
// waits for the next key.
func TestALongPasteArrives(t *testing.T) {
	for _, size := range []int{10_000, 100_000} {
		for _, end := range []string{"\r", "\n", "\r\n"} {
			for _, marked := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d %q marked %v", size, end, marked), func(t *testing.T) {
					t.Parallel()
					sent := machines(size, end)
					send := sent
					if marked {
						send = pasteStart + sent + pasteEnd
					}
					want := widget.Breaks(sent)
					got := atTerminal(t, send, len(want))
					if strings.Contains(got, "<") || got != want {
						t.Errorf("%d of %d bytes: %.120q … %.120q", len(got), len(want), got,
							got[max(0, len(got)-120):])
					}
				})
			}
		}
	}
}

// machines is a list of machines of about so many bytes. Not all of its letters are of one byte.
func machines(size int, end string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "工作节点-%d 10.%d.%d.%d%s", i, i>>16&255, i>>8&255, i&255, end)
	}
	return b.String()
}

// atTerminal sends text to a program at a pseudo-terminal and gives what it pasted, with keys as <key>, once that
// is so many bytes.
func atTerminal(t *testing.T, text string, size int) string {
	t.Helper()
	master, tty := ptytest.New(t)
	got := &heard{begun: make(chan struct{}), whole: make(chan struct{}), size: size}
	in := newInput(&counted{File: tty}).(*input)
	terminal := in.terminalFile.(*counted)
	// There is more as long as not all of it was read: how fast the machine is makes no difference.
	in.more = func(time.Duration) bool { return terminal.read.Load() < int64(len(text)) }
	prog := tea.NewProgram(got, tea.WithInput(in), tea.WithOutput(io.Discard), tea.WithoutSignalHandler())
	ended := make(chan error, 1)
	go func() { _, err := prog.Run(); ended <- err }()
	<-got.begun
	go func() { _, _ = master.WriteString(text) }()
	select {
	case <-got.whole:
	case <-time.After(time.Minute):
		t.Error("the rest waits for another key")
	}
	prog.Quit()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return got.text.String()
}

// counted is a terminal that knows how much was read of it.
type counted struct {
	*os.File
	read atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// heard is a program that writes down what it is sent.
type heard struct {
	text         strings.Builder
	begun, whole chan struct{}
	size         int
	done         bool
}

func (h *heard) Init() tea.Cmd { return func() tea.Msg { close(h.begun); return nil } }

func (h *heard) View() tea.View { return tea.NewView("") }

func (h *heard) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.PasteMsg:
		h.text.WriteString(widget.Breaks(m.Content))
	case tea.KeyPressMsg:
		h.text.WriteString("<" + m.String() + ">")
	}
	if !h.done && h.text.Len() >= h.size {
		h.done = true
		close(h.whole)
	}
	return h, nil
}
