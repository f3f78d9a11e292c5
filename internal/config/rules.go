package config

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
)

// rule is the rule for the text of one field. Fields that travel to a node have a tight set of characters, so that no
// value of a deploy.yaml can mean anything to a shell, a unit file or a path there, whatever the code behind it does.
type rule struct {
	code    string
	ok      func(string) bool
	expr    string // regular expression that ok is, or is stricter than
	example string // of what can be written, where the code's sentence names one
}

func (r rule) like(example string) rule {
	r.example = example
	return r
}

func pattern(code string, most int, expr string) rule {
	re := regexp.MustCompile(`\A(?:` + expr + `)\z`)
	return rule{code: code, expr: expr, ok: func(s string) bool { return len(s) <= most && re.MatchString(s) }}
}

const (
	label     = `[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?`
	subdomain = label + `(?:\.` + label + `)*`
	// The grammar of image references, as github.com/distribution/reference has it.
	imagePath = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	imageRef  = `(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?` + imagePath + `(?:/` + imagePath +
		`)*` +
		`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?`
)

var (
	ruleClusterID = pattern("config.name", 253, subdomain).like("k8s-cluster")
	ruleHostName  = pattern("config.name", 63, subdomain).like("k8s-master-0")
	ruleDomain    = pattern("config.name", 253, subdomain).like("cluster.local")
	ruleSANName   = pattern("config.name", 253, `(?:\*\.)?`+subdomain).like("api.example.org")
	ruleUser      = pattern("config.user", 64, `[A-Za-z_][A-Za-z0-9_.@-]*`)
	ruleToken     = pattern("config.token", 128, `[A-Za-z0-9][A-Za-z0-9._-]*`)
	ruleTag       = pattern("config.image-tag", 128, `[A-Za-z0-9_][A-Za-z0-9_.-]*`)
	ruleImage     = pattern("config.image", 384, imageRef)
	rulePackage   = pattern("config.package-name", 128, `[A-Za-z0-9][A-Za-z0-9+._-]*`)
	ruleAddon     = pattern("config.addon-file", 128, `[A-Za-z0-9][A-Za-z0-9._-]*\.(?:yaml|yml|json)`)
	ruleFlag      = pattern("config.flag", 128, `--[a-z0-9][a-z0-9.-]*`)
	ruleEnvName   = pattern("config.env-name", 128, `[A-Z_][A-Z0-9_]*`)
	ruleSetting   = pattern("config.setting", 128, `[A-Za-z0-9][A-Za-z0-9._-]*`)
	ruleHost      = rule{code: "config.host", ok: isHost}
	ruleEndpoint  = rule{code: "config.endpoint", ok: isEndpoint}
	ruleLine      = rule{ok: func(string) bool { return true }} // any line

	ruleLocalPath = rule{code: "config.local-path", ok: isLocalPath}
	ruleLocalBase = rule{code: "config.local-path-base",
		ok: func(s string) bool { return isLocalPath(s) && (path.IsAbs(s) || strings.HasPrefix(s, "~/")) }}
	ruleNodePath = rule{code: "config.node-path", ok: nodepath.Clean}
	ruleSocket   = rule{code: "config.socket", ok: func(s string) bool {
		p, ok := strings.CutPrefix(s, "unix://")
		return ok && isSocket(p)
	}}
	ruleURL        = rule{code: "config.url", ok: isHTTPURL}
	ruleMirror     = rule{code: "config.mirror", ok: isMirror}
	ruleRegistry   = rule{code: "config.registry", ok: isRegistry}
	ruleSource     = rule{code: "config.secret-source", ok: isSecretSource}
	ruleAccount    = pattern("config.account", 128, `[A-Za-z0-9._@$+/=~-]+`)
	registryHostRE = regexp.MustCompile(`\A(?:` + subdomain + `|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?\z`)
	endpointName   = regexp.MustCompile(`\A` + subdomain + `\z`)
	envNameRE      = regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]{0,127}\z`)
	urlCharsRE     = regexp.MustCompile(`\A[A-Za-z0-9._~/:@%+=,-]*\z`)
)

// isSocket: a path below the directories of sockets. A runtime removes any file at the path on which it listens.
func isSocket(s string) bool {
	return nodepath.Clean(s) && !strings.HasSuffix(s, "/") &&
		(strings.HasPrefix(s, "/run/") || strings.HasPrefix(s, "/var/run/"))
}

// cleanPath reports whether the path has no empty, . or .. elements.
func cleanPath(s string) bool {
	return s == "/" || path.Clean(s) == strings.TrimSuffix(s, "/")
}

// isLocalPath: a file of the jump host, that is only ever opened. Letters of any script, spaces, but no control
// characters; it does not look like a flag, and it is clean but for a leading ./ or ../ of a relative one.
func isLocalPath(s string) bool {
	if s == "" || len(s) > 1024 || strings.HasPrefix(s, "-") {
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" ._/+@%=:,~-", r) {
			return false
		}
	}
	rest := strings.TrimPrefix(s, "./")
	for strings.HasPrefix(rest, "../") {
		rest = rest[3:]
	}
	return rest != "" && !strings.HasSuffix(rest, "/..") && cleanPath(rest) && rest != ".." && rest != "."
}

func isHTTPURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= 1024 && urlCharsRE.MatchString(strings.Replace(s, u.Host, "", 1)) &&
		(u.Scheme == "http" || u.Scheme == "https") && u.User == nil &&
		isHostPort(u.Host)
}

func isRegistry(s string) bool {
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	return isHostPort(s)
}

// isHostPort: a name, an IPv4 address, or an IPv6 address in brackets; with or without a port.
func isHostPort(s string) bool {
	if len(s) > 253+6 || !registryHostRE.MatchString(s) {
		return false
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		_, err := netip.ParseAddr(inner[:strings.IndexByte(inner, ']')])
		return err == nil
	}
	return true
}

// isEndpoint: host:port.
func isEndpoint(s string) bool {
	name, port, err := net.SplitHostPort(s)
	n, perr := strconv.Atoi(port)
	_, aerr := netip.ParseAddr(name)
	return err == nil && perr == nil && strconv.Itoa(n) == port && n >= 1 && n <= 65535 &&
		(aerr == nil || endpointName.MatchString(name))
}

// isHost: a name or an address, without brackets and without a port.
func isHost(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Zone() == ""
	}
	return ruleDomain.ok(strings.ToLower(s))
}

// isSecretSource: prompt, env:NAME, file:PATH.
func isSecretSource(s string) bool {
	if name, ok := strings.CutPrefix(s, "env:"); ok {
		return envNameRE.MatchString(name)
	}
	if file, ok := strings.CutPrefix(s, "file:"); ok {
		return ruleLocalBase.ok(file)
	}
	return s == "prompt"
}

// weakPasswords are those that every scanner tries first.
var weakPasswords = []string{"123456", "12345678", "password", "root", "admin", "changeme", "eggo", "kubernetes",
	"openeuler", "toor", "qwerty"}

// isWeak reports whether the password is guessed at once.
func isWeak(p string) bool { return len(p) < 6 || slices.Contains(weakPasswords, strings.ToLower(p)) }

// IsHostName reports whether a machine of a deploy.yaml may have the name.
func IsHostName(name string) bool { return ruleHostName.ok(name) }
