package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/i18n"
)

type templateOptions struct {
	config.TemplateOptions
	file         string
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
		Use:   "template",
		Short: p.T("cli.template.short"),
		Long:  p.T("cli.template.long"),
		Example: "  eggo-tui template -f deploy.yaml -n k8s-cluster -u root --password-file pw --masters " +
			"192.168.0.1 --nodes 192.168.0.2,192.168.0.3",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.schema {
				_, err := env.Stdout.Write(config.Schema(env.P))
				return err
			}
			o.Nodes = append(o.Nodes, o.workers...)
			o.Bundles = map[string]string{"amd64": o.amd64, "arm64": o.arm64}
			return writeTemplate(cmd.Context(), env, o, cmd.Flags().Changed("password"))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "template.yaml", p.T("cli.template.file"))
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
	cmd.MarkFlagsMutuallyExclusive("password", "password-file", "ask-password")
	cmd.MarkFlagsMutuallyExclusive("loadbalance", "loadbalancer")
	return cmd
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
	if c != nil && o.file != "-" { // the schema lies beside a file
		data = append([]byte(config.Modeline), data...)
		c, problems = config.Load(data, o.file)
	}
	if c != nil {
		problems = append(problems, asWarnings(config.Unsupported(c))...).Sorted()
	}
	printProblems(env, problems)
	if err := problems.Err(); err != nil {
		return event.NewFault(event.ClassUsage, "template.invalid", nil)
	}
	if o.file == "-" {
		_, err := env.Stdout.Write(data)
		return err
	}
	if err := saveNew(o.file, data, o.force); err != nil {
		return err
	}
	fmt.Fprintln(env.Stderr, env.P.T("cli.template.written", "file", o.file))
	if err := saveSchema(o.file, env.P); err != nil { // an editor misses it, nothing else
		text, _ := env.P.Fault(event.AsFault(err))
		fmt.Fprintln(env.Stderr, text)
	}
	return nil
}

// saveSchema puts the JSON Schema beside a deploy.yaml, where its first line names it. A file of that name that is none
// of ours stays.
func saveSchema(file string, p *i18n.Printer) error {
	name := filepath.Join(filepath.Dir(file), config.SchemaName)
	was, err := os.ReadFile(name)
	switch {
	case err == nil && !config.IsSchema(was):
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		err = renameio.WriteFile(name, config.Schema(p), 0o644, renameio.IgnoreUmask())
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "template.write", err, "file", name)
	}
	return nil
}

// asWarnings makes warnings of what deploy refuses: it does not make a file invalid.
func asWarnings(problems config.Problems) config.Problems {
	for i := range problems {
		problems[i].Severity = event.Warning
	}
	return problems
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

// saveNew writes the file with mode 0600, whole or not at all. A file that is there already stays, unless force says
// otherwise.
func saveNew(name string, data []byte, force bool) error {
	fail := func(err error) error {
		if errors.Is(err, fs.ErrExist) {
			return event.NewFault(event.ClassUsage, "template.exists", nil, "file", name)
		}
		return event.NewFault(event.ClassFailed, "template.write", err, "file", name)
	}
	if force {
		if err := renameio.WriteFile(name, data, 0o600, renameio.IgnoreUmask()); err != nil {
			return fail(err)
		}
		return nil
	}
	t, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // 0600
	if err != nil {
		return fail(err)
	}
	defer os.Remove(t.Name())
	_, err = t.Write(data)
	if err == nil {
		err = t.Sync()
	}
	if e := t.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Link(t.Name(), name) // unlike a rename, a link fails if the name is taken
	}
	if err != nil {
		return fail(err)
	}
	return nil
}
