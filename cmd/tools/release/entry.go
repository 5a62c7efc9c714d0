package main

type registryEntry struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Description  string   `json:"description"`
	Repository   string   `json:"repository"`
	Authors      []string `json:"authors"`
	License      string   `json:"license"`
	Distribution struct {
		Binary map[string]registryBinary `json:"binary"`
		NPX    map[string]string         `json:"npx"`
	} `json:"distribution"`
}

type registryBinary struct {
	Archive string `json:"archive"`
	Cmd     string `json:"cmd"`
}

// entry is the one in the ACP registry.
func (r *release) entry() registryEntry {
	e := registryEntry{ID: r.RegistryID, Name: "Claude Code (acp-bridge)", Version: r.Version(), Description: about,
		Repository: r.Repository, Authors: []string{"acp-bridge maintainers"}, License: r.licensed()}
	e.Distribution.NPX = map[string]string{"package": "acp-bridge@" + r.Version()}
	e.Distribution.Binary = map[string]registryBinary{}
	for _, t := range r.Targets {
		e.Distribution.Binary[t.Registry] = registryBinary{r.URL(t), "./acp-bridge" + t.Exe()}
	}
	return e
}

// brewArchive is an archive as a Homebrew formula names it.
type brewArchive struct{ Brew, URL, Sum string }

// Systems are the archives that Homebrew takes, by its names of systems.
func (r *release) Systems() map[string][]brewArchive {
	systems := map[string][]brewArchive{}
	for _, t := range r.Targets {
		os, ok := map[string]string{"darwin": "macos", "linux": "linux"}[t.OS]
		if !ok {
			continue
		}
		cpu := map[string]string{"amd64": "intel", "arm64": "arm"}[t.Arch]
		systems[os] = append(systems[os], brewArchive{cpu, r.URL(t), r.Sum(t)})
	}
	return systems
}
