package session

// What becomes of a request: the goroutine that asks it, the user who answers,
// and others who do so at the desk.
func (w *world) askMoves(list []move, i int) []move {
	r, key := w.asks[i], firstAsk+i
	shows := func(owed bool) {
		list = append(list, move{"# goes to the editor", key, owed, func(w *world) { w.goes(key, RequestShown{key}, onScreen) }})
	}
	parks := func(owed bool) {
		if r.kind == Question || r.kind == Form {
			list = append(list, move{"# goes to the conversation", key, owed, func(w *world) { w.goes(key, RequestParks{key}, written) }})
		}
	}
	settles := func(owed bool) {
		if r.withdrawn { // a question that the session cancels looks as if the user had
			no := r.kind == Question && r.cancelled
			list = append(list, move{"# has been taken back", key, owed, func(w *world) { w.settles(i, no) }})
			return
		}
		list = append(list, move{"# gets its outcome", key, owed, func(w *world) { w.settles(i, false) }})
		if r.kind != Errand && r.kind != Form {
			list = append(list, move{"# is dismissed", key, false, func(w *world) { w.settles(i, true) }})
		}
	}
	again := w.rounds > 0
	switch r.at {
	case inLine:
		switch {
		case r.kind == Errand:
			settles(true)
		case w.first(i):
			shows(true)
			parks(false)
		}
	case onScreen:
		settles(true)
		if again {
			shows(false)
		}
		parks(false)
	case unshown:
		shows(true)
		parks(r.kind != Permission)
	case written:
		list = append(list, move{"# can be read", key, true, func(w *world) { w.goes(key, RequestParked{key, "call"}, readable) }})
	case answering:
		if r.stale {
			parks(true)
			break
		}
		settles(true)
		if again {
			shows(false)
			parks(false)
		}
	case left:
		list = append(list, move{"# has its outcome", key, true, func(w *world) { w.settles(i, false) }})
	case refused:
		settles(true)
	case done:
		tell := func(goOn bool) func(*world) {
			return func(w *world) {
				w.asks[i].at = replied
				w.step(RequestReplied{key, goOn})
			}
		}
		list = append(list, move{"# is told to the agent", key, true, tell(false)})
		if p := w.state.HeardFrom(key); w.goOns > 0 && p != 0 {
			list = append(list, move{"# is to be told by its prompt", key, false, func(w *world) {
				w.goOns--
				w.prompt(p).words, w.asks[i].prompt = false, 0
				tell(true)(w)
			}})
		}
	}
	if r.at == inLine || r.at == readable || r.at == unshown {
		if r.withdrawn {
			settles(true)
		} else if w.elsewhere > 0 && r.kind != Errand {
			list = append(list, move{"# is answered elsewhere", key, false, func(w *world) { w.elsewhere--; w.settles(i, false) }})
			list = append(list, move{"# is cancelled elsewhere", key, false, func(w *world) { w.elsewhere--; w.settles(i, true) }})
		}
	}
	return list
}

// first reports whether it is a request's turn at the desk.
func (w *world) first(i int) bool {
	for _, other := range w.asks[:i] {
		if other.kind != Errand && other.at > nowhere && other.at < left {
			return false
		}
	}
	return true
}

// goes asks whether a request may go on, as the goroutine does that asks it.
func (w *world) goes(key int, ev Event, to place) {
	r := w.ask(key)
	if r.at == answering && !r.stale || r.at == onScreen && to == onScreen {
		w.rounds--
	}
	w.noteParks(ev)
	r.at, r.stale = refused, false
	w.wants = leave{key: key, to: to}
	w.step(ev)
	if w.wants.answers != 1 {
		w.breaks("a request that waits to go on gets one answer, not %d", w.wants.answers)
	}
	w.wants = leave{}
}

// leave is what a goroutine waits for that asks.
type leave struct {
	key     int
	to      place
	answers int
}

// settles gives a request its outcome. The next one of the session may have its
// turn before the session knows.
func (w *world) settles(i int, dismissed bool) {
	r := &w.asks[i]
	if r.at != left {
		w.noteGone(i)
		r.no = dismissed
		if dismissed && !r.withdrawn && r.kind != Form && !w.relayed {
			r.dismissed = true
			w.noteMaybeBrokenOff() // the session does not know yet
		}
		if w.hasNext(i) {
			r.at = left
			return
		}
	}
	if r.dismissed { // what came since cannot be told from what was there
		w.noteDismissed(r)
	}
	r.at = done
	w.step(RequestSettled{firstAsk + i, r.no && !w.relayed})
}

// hasNext reports whether another request waits for this one.
func (w *world) hasNext(i int) bool {
	for j, other := range w.asks[:w.asked] {
		if j > i && other.kind != Errand && other.at == inLine {
			return true
		}
	}
	return false
}
