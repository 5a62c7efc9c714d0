package editor

// What becomes of a request: the goroutine that asks it, the user who answers,
// and others who do so at the desk.
func (w *world) askMoves(list []move, i int) []move {
	r, key := w.asks[i], firstAsk+i
	shows := func(owed bool) {
		list = append(list, move{"# goes to the editor", key, owed, func(w *world) { w.goes(key, requestShown{key}, onScreen) }})
	}
	parks := func(owed bool) {
		if r.kind == question || r.kind == form {
			list = append(list, move{"# goes to the conversation", key, owed, func(w *world) { w.goes(key, requestParks{key}, written) }})
		}
	}
	settles := func(owed bool) {
		if r.withdrawn { // nobody asks who said no
			no := r.kind == question || r.kind == permission
			list = append(list, move{"# has been taken back", key, owed, func(w *world) { w.settles(i, no) }})
			return
		}
		list = append(list, move{"# gets its outcome", key, owed, func(w *world) { w.settles(i, false) }})
		if r.kind != errand && r.kind != form {
			list = append(list, move{"# is dismissed", key, false, func(w *world) { w.settles(i, true) }})
		}
	}
	again := w.rounds > 0
	switch r.at {
	case inLine:
		switch {
		case r.kind == errand:
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
	case written:
		list = append(list, move{"# can be read", key, true, func(w *world) { w.goes(key, requestParked{key, "call"}, readable) }})
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
	case left, refused:
		settles(true)
	case done:
		list = append(list, move{"# is told to the agent", key, true, func(w *world) {
			w.asks[i].at = replied
			w.step(requestReplied{key})
		}})
	}
	if r.at == inLine || r.at == readable {
		if r.withdrawn {
			settles(true)
		} else if w.elsewhere > 0 && r.kind != errand {
			list = append(list, move{"# is answered elsewhere", key, false, func(w *world) { w.elsewhere--; w.settles(i, false) }})
			list = append(list, move{"# is cancelled elsewhere", key, false, func(w *world) { w.elsewhere--; w.settles(i, true) }})
		}
	}
	return list
}

// first reports whether it is a request's turn at the desk.
func (w *world) first(i int) bool {
	for _, other := range w.asks[:i] {
		if other.kind != errand && other.at > nowhere && other.at < left {
			return false
		}
	}
	return true
}

// goes asks whether a request may go on, as the goroutine does that asks it.
func (w *world) goes(key int, ev event, to place) {
	r := w.ask(key)
	if r.at == answering && !r.stale || r.at == onScreen && to == onScreen {
		w.rounds--
	}
	w.noteParks(ev)
	r.at, r.stale = refused, false
	w.wants = leave{key: key, to: to}
	w.step(ev)
	if w.wants.answers != 1 {
		w.breaks("a request that waits for leave to go on gets one answer, not %d", w.wants.answers)
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
	if w.hasNext(i) && r.at != left {
		w.noteGone(i)
		r.at = left
		return
	}
	w.noteGone(i)
	if dismissed && !r.withdrawn && r.kind != form {
		r.dismissed = true
		if w.reader.at == reads {
			w.noteBrokenOff()
		}
	}
	r.at = done
	w.step(requestSettled{firstAsk + i, dismissed})
}

// hasNext reports whether another request waits for this one.
func (w *world) hasNext(i int) bool {
	for j, other := range w.asks[:w.asked] {
		if j > i && other.kind != errand && other.at == inLine {
			return true
		}
	}
	return false
}
