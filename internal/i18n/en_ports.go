package i18n

// enPorts are the sentences about firewalls, hooks, host names and packages of the less usual types.
func enPorts() map[string]string {
	return map[string]string{
		"step.infrastructure.ports": "Open ports in the firewall",
		"step.clean.ports":          "Close the ports that were opened",

		"change.open-ports":  "open in the firewall: {rules}",
		"change.close-ports": "close in the firewall what is needed no more: {rules}",
		"change.undo-ports":  "close in the firewall what was opened",

		"why.no-firewall": "no firewall is active",
		"notice.ports":    "{node} has {firewall} active, which does not let in {ports}: Eggo opens them, and cleanup closes them again",

		"fault.preflight.firewall-unsure":      "{node} has {firewall} active with rules whose effect is not told here; they may refuse {ports} even when these are opened.",
		"fault.preflight.firewall-unsure.next": "Eggo opens the ports; see that no rule of {firewall} refuses them to the other nodes and to pods.",
	}
}
