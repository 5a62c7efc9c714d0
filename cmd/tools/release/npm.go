package main

import "cmp"

// npmPackage is a package.json.
type npmPackage struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	Repository  map[string]string `json:"repository"`
	Bin         map[string]string `json:"bin,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Files       []string          `json:"files"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
}

// licensed is the licence as npm and the registry name it.
func (r *release) licensed() string { return cmp.Or(r.License, "UNLICENSED") }

func (r *release) npm(name string) npmPackage {
	return npmPackage{Name: name, Version: r.Version(), Description: about, License: r.licensed(),
		Repository: map[string]string{"type": "git", "url": "git+" + r.Repository + ".git"}}
}

// carrier is the package with the programs for one system.
func (r *release) carrier(t target) npmPackage {
	p := r.npm(t.Package())
	p.Description += " (" + t.String() + ")"
	p.OS, p.CPU, p.Files = []string{t.NodeOS}, []string{t.NodeArch}, []string{"bin"}
	return p
}

// launcher is the package that people install. npm takes that carrier along which
// fits the system.
func (r *release) launcher() npmPackage {
	p := r.npm("acp-bridge")
	p.Bin, p.Optional = map[string]string{}, map[string]string{}
	for _, name := range r.Programs {
		p.Bin[name] = name + ".js"
		p.Files = append(p.Files, name+".js")
	}
	for _, f := range r.texts.files {
		p.Files = append(p.Files, f.name)
	}
	for _, t := range r.Targets {
		p.Optional[t.Package()] = r.Version()
	}
	return p
}

func (r *release) writeNPM() error {
	for _, t := range r.Targets {
		if err := r.putJSON("npm/"+t.Package()+"/package.json", r.carrier(t)); err != nil {
			return err
		}
	}
	for _, name := range r.Programs {
		about := struct{ Program, Repository string }{name, r.Repository}
		if err := r.fill("launcher.js", "npm/acp-bridge/"+name+".js", about); err != nil {
			return err
		}
	}
	for _, f := range r.texts.files {
		if err := r.put("npm/acp-bridge/"+f.name, f.data); err != nil {
			return err
		}
	}
	if err := r.fill("npm.md", "npm/acp-bridge/README.md", r); err != nil { // the repository's has pictures, and is for a clone
		return err
	}
	return r.putJSON("npm/acp-bridge/package.json", r.launcher())
}
