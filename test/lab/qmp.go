package lab

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"
)

// qmpLimit is how long qemu may take to answer: it computes nothing for that.
const qmpLimit = 20 * time.Second

// qmp has the qemu of a node execute a command of its machine protocol.
func (l *Lab) qmp(node, command string, arguments map[string]any) error {
	dir, err := os.Open(l.nodeDir(node))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	// The name of a socket may have 107 bytes, and the lab's directory may be anywhere.
	conn, err := net.DialTimeout("unix", fmt.Sprintf("/proc/self/fd/%d/qmp", dir.Fd()), qmpLimit)
	if err != nil {
		return fmt.Errorf("qemu of %s: %w", node, err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(qmpLimit)); err != nil {
		return err
	}
	return execute(conn, command, arguments)
}

// execute speaks the protocol: a greeting, then one answer to each command, with events between them.
func execute(conn net.Conn, command string, arguments map[string]any) error {
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	var greeting struct{ QMP *json.RawMessage }
	if err := in.Decode(&greeting); err != nil || greeting.QMP == nil {
		return fmt.Errorf("qemu does not greet: %w", err)
	}
	for _, c := range []map[string]any{{"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}} {
		if c["arguments"] == nil || arguments == nil {
			delete(c, "arguments")
		}
		if err := out.Encode(c); err != nil {
			return err
		}
		for answered := false; !answered; {
			var answer struct {
				Return *json.RawMessage
				Error  *struct{ Class, Desc string }
			}
			if err := in.Decode(&answer); err != nil {
				return fmt.Errorf("qemu does not answer %s: %w", c["execute"], err)
			}
			if answer.Error != nil {
				return fmt.Errorf("qemu refuses %s: %s", c["execute"], answer.Error.Desc)
			}
			answered = answer.Return != nil
		}
	}
	return nil
}
