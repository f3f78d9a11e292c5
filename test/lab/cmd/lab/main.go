// Command lab makes and handles the nodes of a lab; package lab says what they are.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/test/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.ExitCode() > 0: // ssh's command has said what it had to say
		os.Exit(exit.ExitCode())
	default:
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	var o lab.Options
	cmd := &cobra.Command{
		Use:           "lab",
		Short:         "Real nodes on one Linux machine",
		SilenceUsage:  true,
		SilenceErrors: true,
		Long: `Real nodes on one Linux machine: Debian with systemd, sshd, a disk and a network of its own, and no way to
the Internet. Log in as root (key, or password ` + lab.RootPassword + `) or as ` + lab.OpsUser + ` (key, or password ` +
			lab.OpsPassword + `, also for sudo).

LAB names the lab (default eggo), EGGO_LAB_DIR the directory where everything is kept.`,
	}
	cmd.PersistentFlags().StringVar(&o.Name, "lab", "", "name of the lab (default $LAB, else "+lab.DefaultName+")")
	cmd.PersistentFlags().StringVar(&o.Dir, "dir", "",
		"where disks and caches are kept (default $EGGO_LAB_DIR, else eggo-lab in the user's cache directory)")
	cmd.PersistentFlags().IntVar(&o.DiskGiB, "disk", lab.DefaultDiskGiB, "size in GiB of disks made from now on")
	cmd.PersistentFlags().IntVar(&o.MemoryMiB, "memory", lab.DefaultMemoryMiB,
		"memory in MiB of virtual machines that boot from now on")
	verbs := verbs{&o}
	cmd.AddCommand(verbs.up(), verbs.down(), verbs.ssh(), verbs.list(), verbs.check(), verbs.install(), verbs.rootfs(),
		verbs.snapshot(), verbs.diff(), verbs.turn())
	for _, v := range []struct {
		name, short string
		do          func(context.Context, *lab.Lab, string) error
	}{
		{"start", "Boot a node that is off", func(ctx context.Context, l *lab.Lab, n string) error {
			return l.Start(ctx, n)
		}},
		{"stop", "Have a node power itself off", func(ctx context.Context, l *lab.Lab, n string) error {
			return l.Stop(ctx, n)
		}},
		{"kill", "Power a node off hard", func(ctx context.Context, l *lab.Lab, n string) error {
			return l.Kill(ctx, n)
		}},
		{"reboot", "Have a node reboot itself and wait until it is back",
			func(ctx context.Context, l *lab.Lab, n string) error { return l.Reboot(ctx, n) }},
		{"freeze", "Stop every process of a node where it is",
			func(_ context.Context, l *lab.Lab, n string) error { return l.Freeze(n) }},
		{"thaw", "Let a frozen node go on", func(_ context.Context, l *lab.Lab, n string) error { return l.Thaw(n) }},
		{"cut", "Pull a node's network cable", func(ctx context.Context, l *lab.Lab, n string) error {
			return l.Cut(ctx, n)
		}},
		{"reconnect", "Plug a node's network cable in again",
			func(ctx context.Context, l *lab.Lab, n string) error { return l.Reconnect(ctx, n) }},
		{"wipe", "Give a node a fresh disk", func(ctx context.Context, l *lab.Lab, n string) error {
			return l.Wipe(ctx, n)
		}},
	} {
		cmd.AddCommand(&cobra.Command{Use: v.name + " NODE...", Short: v.short, Args: cobra.MinimumNArgs(1),
			RunE: func(c *cobra.Command, nodes []string) error {
				l, err := verbs.open(c)
				if err != nil {
					return err
				}
				for _, n := range nodes {
					if err := v.do(c.Context(), l, n); err != nil {
						return fmt.Errorf("%s: %w", n, err)
					}
				}
				return nil
			}})
	}
	return cmd
}

type verbs struct{ o *lab.Options }

func (v verbs) open(c *cobra.Command) (*lab.Lab, error) {
	v.o.Out = c.ErrOrStderr()
	return lab.Open(*v.o)
}

func (v verbs) up() *cobra.Command {
	var rpm, debian13, foreign, vm, vmArm64 []string
	cmd := &cobra.Command{Use: "up N", Short: "Boot the nodes n1 to nN", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			n := 0
			if _, err := fmt.Sscan(args[0], &n); err != nil {
				return fmt.Errorf("%q is not a number of nodes", args[0])
			}
			l, err := v.open(c)
			if err != nil {
				return err
			}
			l.OfRPM(rpm...)
			l.OfDebian13(debian13...)
			l.OfForeign(foreign...)
			l.OfVM(runtime.GOARCH, vm...)
			l.OfVM("arm64", vmArm64...)
			if err := l.Up(c.Context(), n); err != nil {
				return err
			}
			return printList(c, l)
		}}
	cmd.Flags().StringSliceVar(&rpm, "rpm", nil,
		"nodes that are of the rpm family when they get their disk: dnf, rpm, the os-release of openEuler")
	cmd.Flags().StringSliceVar(&debian13, "debian13", nil, "nodes that are of Debian 13 when they get their disk")
	cmd.Flags().StringSliceVar(&foreign, "foreign", nil,
		"nodes that are of the other architecture when they get their disk, under qemu's emulation: no kubelet runs "+
			"there")
	cmd.Flags().StringSliceVar(&vm, "vm", nil,
		"nodes that are virtual machines of this machine's architecture when they get their disk: Debian's kernel, "+
			"cgroup v2")
	cmd.Flags().StringSliceVar(&vmArm64, "vm-arm64", nil,
		"nodes that are virtual machines of arm64 when they get their disk")
	return cmd
}

func (v verbs) turn() *cobra.Command {
	return &cobra.Command{Use: "turn NODE vm|namespace", Args: cobra.ExactArgs(2),
		Short: "Boot the disk of a virtual machine in a namespace of this machine, where all is fast, or as one again",
		RunE: func(c *cobra.Command, args []string) error {
			l, err := v.open(c)
			if err != nil {
				return err
			}
			switch args[1] {
			case "vm", "namespace":
				return l.Turn(c.Context(), args[0], args[1] == "vm")
			}
			return fmt.Errorf("%q is neither vm nor namespace", args[1])
		}}
}

func (v verbs) down() *cobra.Command {
	wipe := false
	cmd := &cobra.Command{Use: "down", Short: "Power all nodes off and remove the network", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := v.open(c)
			if err != nil {
				return err
			}
			return l.Down(c.Context(), wipe)
		}}
	cmd.Flags().BoolVar(&wipe, "wipe", false, "also throw the disks and keys away")
	return cmd
}

func (v verbs) ssh() *cobra.Command {
	user := ""
	cmd := &cobra.Command{Use: "ssh NODE [COMMAND...]", Short: "Log in to a node as root", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := v.open(c)
			if err != nil {
				return err
			}
			if _, err := l.Address(args[0]); err != nil {
				return err
			}
			rest := args[1:]
			if user != "" {
				rest = append([]string{"-l", user}, rest...)
			}
			s := l.SSH(c.Context(), args[0], rest...)
			s.Stdin, s.Stdout, s.Stderr = os.Stdin, os.Stdout, os.Stderr
			return s.Run()
		}}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVarP(&user, "login", "l", "", "user to log in as")
	return cmd
}

func (v verbs) list() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "Show the nodes", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := v.open(c)
			if err != nil {
				return err
			}
			return printList(c, l)
		}}
}

func printList(c *cobra.Command, l *lab.Lab) error {
	nodes, err := l.List()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
	for _, n := range nodes {
		kind := ""
		if n.VM != "" {
			kind = fmt.Sprintf("\tVM %s, takes %g times as long", n.VM, n.Slowness)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\tdisk %d MiB%s\n", n.Name, n.Address, n.State, n.Disk>>20, kind)
	}
	if err := w.Flush(); err != nil || len(nodes) == 0 {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(),
		"this machine: %s   ssh -F %s n1\nroot: key %s or password %s   %s: the same key or password %s, also for "+
			"sudo\n",
		l.HostAddress(), l.SSHConfig(), l.IdentityFile(), lab.RootPassword, lab.OpsUser, lab.OpsPassword)
	return err
}

func (v verbs) check() *cobra.Command {
	return &cobra.Command{Use: "check", Aliases: []string{"doctor"}, Short: "Say what this machine lacks to run a lab",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := v.open(c)
			if err != nil {
				return err
			}
			if p := l.Check(c.Context()); len(p) > 0 {
				return &p
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), "this machine can run the lab")
			return err
		}}
}

// archs are the architectures of virtual machines that two flags ask for.
func archs(vm, arm64 bool) (list []string) {
	if vm {
		list = append(list, runtime.GOARCH)
	}
	if arm64 {
		list = append(list, "arm64")
	}
	return list
}

func vmFlags(cmd *cobra.Command, vm, arm64 *bool) {
	cmd.Flags().BoolVar(vm, "vm", false, "for virtual machines of this machine's architecture")
	cmd.Flags().BoolVar(arm64, "vm-arm64", false, "for virtual machines of arm64")
}

func (v verbs) install() *cobra.Command {
	vm, arm64 := false, false
	cmd := &cobra.Command{Use: "install", Short: "Install the Debian packages that the lab needs", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := v.open(c)
			if err != nil {
				return err
			}
			for k, arch := range archs(vm, arm64) {
				l.OfVM(arch, fmt.Sprintf("n%d", k+1))
			}
			return l.Install(c.Context())
		}}
	vmFlags(cmd, &vm, &arm64)
	return cmd
}

func (v verbs) rootfs() *cobra.Command {
	rpm, debian13, foreign, vm, arm64 := false, false, false, false, false
	cmd := &cobra.Command{Use: "rootfs", Short: "Build the nodes' root file system if it is not in the cache",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := v.open(c)
			if err != nil {
				return err
			}
			disk := lab.Disk{Family: lab.Debian}
			for is, family := range map[*bool]lab.Family{&rpm: lab.RPM, &debian13: lab.Debian13,
				&foreign: lab.Foreign} {
				if *is {
					disk.Family = family
				}
			}
			for _, arch := range archs(vm, arm64) {
				disk.VM = arch
			}
			image, err := l.BuildRootfs(c.Context(), disk)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), image)
			return err
		}}
	cmd.Flags().BoolVar(&rpm, "rpm", false, "that of the rpm family")
	cmd.Flags().BoolVar(&debian13, "debian13", false, "that of Debian 13")
	cmd.Flags().BoolVar(&foreign, "foreign", false, "that of the other architecture")
	vmFlags(cmd, &vm, &arm64)
	return cmd
}

func (v verbs) snapshot() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{Use: "snapshot NODE", Short: "List the state of a node, to compare it with another listing",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := v.open(c)
			if err != nil {
				return err
			}
			s, err := l.Snapshot(c.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(s)
			}
			return s.Write(c.OutOrStdout())
		}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, which diff reads")
	return cmd
}

func (v verbs) diff() *cobra.Command {
	return &cobra.Command{Use: "diff BEFORE AFTER", Short: "Say how two snapshots (--json) differ",
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			var s [2]lab.Snapshot
			for i, f := range args {
				text, err := os.ReadFile(f)
				if err != nil {
					return err
				}
				if err := json.Unmarshal(text, &s[i]); err != nil {
					return fmt.Errorf("%s: %w", f, err)
				}
			}
			d := lab.Diff(s[0], s[1])
			for _, x := range d {
				_, _ = fmt.Fprintln(c.OutOrStdout(), x)
			}
			if len(d) > 0 {
				return fmt.Errorf("%d differences", len(d))
			}
			return nil
		}}
}
