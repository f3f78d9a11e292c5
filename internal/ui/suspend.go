package ui

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// suspend gives the terminal back to the shell until that continues the program. Where there is no such shell, as in
// ssh -t HOST eggo-tui, the kernel would not stop the program, which then would wait for ever for somebody to continue
// it.
func (a *App) suspend() tea.Cmd {
	top, note := a.top(), frame.Note{Text: a.env.P.T("ui.suspend.no-shell")}
	return func() tea.Msg {
		if !watched(os.Getpid()) {
			return pageMsg{page: top, msg: note}
		}
		return tea.SuspendMsg{}
	}
}

// watched says whether a shell with job control is there that would continue the process: a process of the same session
// and of another group is the parent of one of the group.
func watched(pid int) bool {
	for range 100 { // generations
		parent, err := parentOf(pid)
		if err != nil || parent <= 1 {
			return false
		}
		session, err1 := unix.Getsid(pid)
		parents, err2 := unix.Getsid(parent)
		group, err3 := unix.Getpgid(pid)
		groups, err4 := unix.Getpgid(parent)
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil || session != parents {
			return false
		}
		if group != groups {
			return true
		}
		pid = parent
	}
	return false
}

func parentOf(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// behind the name, which may have blanks: state, parent
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return strconv.Atoi(string(fields[1]))
}
