package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

type templateOptions struct {
	config.TemplateOptions
	file, out    string
	force        bool
	passwordFile string
	askPassword  bool
	workers      []string
	amd64, arm64 string
	schema       bool
}

func newTemplateCmd(env *environment) *cobra.Command {
	p := env.P
	var o templateOptions
	cmd := &cobra.Command{
		Use:        "template",
		SuggestFor: []string{"init"},
		Short:      p.T("cli.template.short"),
		Long:       p.T("cli.template.long"),
		Example: "  eggo-tui template -f deploy.yaml -n k8s-cluster -u root --password-file pw --masters " +
			"192.168.0.1 --nodes 192.168.0.2,192.168.0.3",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.schema {
				_, err := env.Stdout.Write(config.Schema(env.P))
				return err
			}
			o.file = o.target(env)
			o.Nodes = append(o.Nodes, o.workers...)
			o.Bundles = map[string]string{"amd64": o.amd64, "arm64": o.arm64}
			return writeTemplate(cmd.Context(), env, o, cmd.Flags().Changed("password"))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", p.T("cli.template.file"))
	f.StringVarP(&o.out, "out", "o", "", p.T("cli.template.out"))
	f.StringVarP(&o.Name, "name", "n", "k8s-cluster", p.T("cli.template.name"))
	f.StringVarP(&o.User, "user", "u", "root", p.T("cli.template.user"))
	f.StringVarP(&o.Password, "password", "p", "", p.T("cli.template.password"))
	f.StringVar(&o.passwordFile, "password-file", "", p.T("cli.template.password-file"))
	f.BoolVar(&o.askPassword, "ask-password", false, p.T("cli.template.ask-password"))
	f.StringVar(&o.PrivateKey, "private-key", "", p.T("cli.template.private-key"))
	f.StringSliceVar(&o.Masters, "masters", nil, p.T("cli.template.masters"))
	f.StringSliceVar(&o.Nodes, "nodes", nil, p.T("cli.template.nodes"))
	f.StringSliceVar(&o.workers, "workers", nil, p.T("cli.template.workers"))
	f.StringSliceVar(&o.Etcds, "etcds", nil, p.T("cli.template.etcds"))
	f.StringVarP(&o.LoadBalancer, "loadbalancer", "l", "", p.T("cli.template.loadbalancer"))
	// as later versions of the manual write it
	f.StringVar(&o.LoadBalancer, "loadbalance", "", p.T("cli.template.loadbalancer"))
	f.Lookup("loadbalance").Hidden = true
	f.StringVar(&o.Arch, "arch", "", p.T("cli.template.arch"))
	f.StringVar(&o.amd64, "amd64-bundle", "", p.T("cli.template.amd64-bundle"))
	f.StringVar(&o.arm64, "arm64-bundle", "", p.T("cli.template.arm64-bundle"))
	f.BoolVar(&o.force, "force", false, p.T("cli.template.force"))
	f.BoolVar(&o.schema, "schema", false, p.T("cli.template.schema"))
	cmd.MarkFlagsMutuallyExclusive("file", "out")
	cmd.MarkFlagsMutuallyExclusive("password", "password-file", "ask-password")
	cmd.MarkFlagsMutuallyExclusive("loadbalance", "loadbalancer")
	return cmd
}

// target returns the file to write: that of -f or -o, else standard output where a file or a program reads it, else
// template.yaml, the name in the manual.
func (o *templateOptions) target(env *environment) string {
	otherwise := "template.yaml"
	if !onTerminal(env.Stdout) {
		otherwise = "-"
	}
	return cmp.Or(o.file, o.out, otherwise)
}

// writeTemplate makes the file, proves that it loads, and only then puts it in its place.
func writeTemplate(ctx context.Context, env *environment, o templateOptions, passwordGiven bool) error {
	if err := o.readPassword(ctx, env, passwordGiven); err != nil {
		return err
	}
	if o.Arch == "" && o.arm64 != "" && o.amd64 == "" {
		o.Arch = "arm64" // who has only that bundle has only such machines
	}
	if o.PrivateKey != "" && !strings.HasPrefix(o.PrivateKey, "~/") {
		abs, err := filepath.Abs(o.PrivateKey)
		if err != nil {
			return event.NewFault(event.ClassUsage, "config.unreadable", err, "file", o.PrivateKey)
		}
		o.PrivateKey = abs
	}
	data := config.Template(o.TemplateOptions, env.P)
	c, problems := config.Load(data, o.file)
	named := c != nil && o.file != "-" && store.SchemaIsOurs(o.file)
	if named {
		data = append([]byte(config.Modeline), data...)
		c, problems = config.Load(data, o.file)
	}
	if c != nil {
		problems = config.WithWarnings(c, problems)
	}
	printProblems(env, problems)
	if err := problems.Err(); err != nil {
		return event.NewFault(event.ClassUsage, "template.invalid", nil)
	}
	if o.file == "-" {
		_, err := env.Stdout.Write(data)
		return err
	}
	undo := func() {}
	if named && (o.force || !exists(o.file)) {
		if u, err := store.SaveSchema(o.file, config.Schema(env.P)); err == nil {
			undo = u
		} else { // an editor misses it, nothing else
			data = config.WithoutModeline(data)
			text, _ := env.P.Fault(event.AsFault(err))
			fmt.Fprintln(env.Stderr, text)
		}
	}
	if err := store.Create(o.file, data, o.force); err != nil {
		undo()
		return err
	}
	fmt.Fprintln(env.Stderr, env.P.T("cli.template.written", "file", o.file))
	return nil
}

// readPassword gets the password from where it was said to be. There is no default.
func (o *templateOptions) readPassword(ctx context.Context, env *environment, given bool) error {
	secret := func(s string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && !utf8.ValidString(s) {
			err = errors.New("not UTF-8")
		}
		if err == nil && s == "" {
			err = errors.New("empty")
		}
		if err != nil {
			return event.NewFault(event.ClassUsage, "template.password", err)
		}
		o.Password = s
		return nil
	}
	switch {
	case o.askPassword:
		return secret(askSecret(ctx, env, env.P.T("cli.template.prompt")))
	case o.passwordFile != "":
		return secret(firstLineOf(o.passwordFile))
	case given && o.Password == "-":
		return secret(firstLine(env.Stdin))
	case given:
		fmt.Fprintf(env.Stderr, "%s: %s\n", env.P.T("cli.warning"), env.P.T("cli.template.password-visible"))
		return secret(o.Password, nil)
	}
	return nil
}

func firstLineOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return firstLine(f)
}

// firstLine reads one line of at most 4 KiB, without its end.
func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
