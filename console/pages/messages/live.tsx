// The live tail: the newest records on top. The list stands still while the user scrolls, selects or points at a row,
// and counts what arrives. A tail without a reader is closed, and continues where it was.

import { Pause, Play } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { ShownRecord } from '../../../src/api/messages.ts'
import { pause } from '../../api/client.ts'
import { asProblem, type Problem } from '../../api/problem.ts'
import { tail } from '../../api/tail.ts'
import { Button } from '../../parts/button.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { Empty } from '../../parts/states.tsx'
import { usePreference } from '../../shell/preferences.ts'
import { count, counted } from '../../text/format.ts'
import { arrive, EMPTY_RING, type LiveRing, MOST_KEPT, miss, release } from './live-ring.ts'
import { ProduceFirst } from './nothing.tsx'
import { RecordColumnChoice, type RecordColumns, Rows } from './rows.tsx'
import { decodingOf, type MessageSearch } from './selection.ts'
import { useStandstill } from './standstill.ts'

/** The page is drawn at most once in this time, in ms. */
const DRAW_MS = 250
/** The rows that a browser can draw again and again without a pause. When records arrive slowly, all are drawn. */
const MOST_DRAWN_FAST = 100
/** The draws in a row with few records, 2 s, after which a stream is slow again. */
const QUIET_DRAWS = 8
/** The bytes of a key or a value that fit into a row. */
const PREVIEW_BYTES = 200
/** A list that stands still for longer needs no stream, in ms. */
const MOST_STILL_MS = 60_000

interface LiveProps {
  readonly topic: string
  readonly search: MessageSearch
  readonly columns: RecordColumns
  readonly onOpen: (record: ShownRecord) => void
}

export function Live({ topic, search, columns, onOpen }: LiveProps) {
  const list = useRef<HTMLDivElement>(null)
  const [isStopped, setStopped] = useState(false)
  const [areUpdatesPaused] = usePreference('isPaused')
  const reason = useStandstill(list)
  const isStill = isStopped || areUpdatesPaused || reason !== null
  const { ring, isFast, problem, isOpen, show, retry } = useTail(topic, search, isStill)
  const { shown, waitingCount, dropped, isUncounted } = ring
  const isCounting = isStill ? waitingCount > 0 : shown.length > 0
  const drawn = isFast && !isStill ? shown.slice(0, MOST_DRAWN_FAST) : shown
  return (
    <div ref={list}>
      {/* It stays in view: a list that stands still far down still counts what arrives. */}
      <div className="sticky top-12 z-10 mb-2 flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1 bg-canvas py-1">
        <Button isSmall icon={isStopped ? Play : Pause} onClick={() => setStopped(!isStopped)}>
          {isStopped ? 'Resume' : 'Pause'}
        </Button>
        {/* Read aloud when the state changes, and not at each record. */}
        <p role="status" aria-live={isCounting ? 'off' : 'polite'} className="text-muted tabular-nums">
          {isStill
            ? `Paused${isStopped ? '' : areUpdatesPaused ? ' with all updates' : ` while you ${reason}`} · ${count(waitingCount)} new`
            : isOpen
              ? 'Live'
              : 'Connecting …'}
          {` · ${counted(shown.length, 'record')}`}
          {shown.length === MOST_KEPT && ' (the newest)'}
          {drawn.length < shown.length && ` · ${count(drawn.length)} are drawn while they arrive so fast`}
          {dropped > 0 && ` · ${count(dropped)} skipped, because this page was too slow or away`}
          {isUncounted && ' · some were skipped'}
        </p>
        {waitingCount > 0 && (
          <Button
            isSmall
            kind="primary"
            onClick={() => {
              setStopped(false)
              getSelection()?.removeAllRanges()
              scrollTo({ top: 0 })
              show()
            }}
          >
            Show {count(waitingCount)} new
          </Button>
        )}
        {shown.length > 0 && (
          <div className="ml-auto">
            <RecordColumnChoice columns={columns} />
          </div>
        )}
      </div>
      {problem !== null && <ProblemNote problem={problem} of="The live tail" onRetry={retry} />}
      {shown.length === 0 ? (
        problem === null && (
          <Empty title="Waiting for records" action={<ProduceFirst topic={topic} />}>
            {search.contains === ''
              ? 'Each new record appears here.'
              : 'Each new record that contains the text appears here.'}
          </Empty>
        )
      ) : (
        <Rows columns={columns} records={drawn} at={search.at} onOpen={onOpen} />
      )}
    </div>
  )
}

interface Tail {
  readonly ring: LiveRing
  /** True while more records arrive than can be drawn. */
  readonly isFast: boolean
  /** Why there is no stream; null if there is one, or will be. */
  readonly problem: Problem | null
  readonly isOpen: boolean
  /** Shows what waits. */
  show(): void
  retry(): void
}

function useTail(topic: string, search: MessageSearch, isStill: boolean): Tail {
  const { partition, contains } = search
  const { decode, keyDecode } = decodingOf(search)
  const [ring, setRing] = useState(EMPTY_RING)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isOpen, setOpen] = useState(false)
  const [isFast, setFast] = useState(false)
  const [attempt, setAttempt] = useState(0)
  const isWatched = useIsWatched(isStill)
  /** Where the next stream begins, and of which selection that is. */
  const reached = useRef<{ readonly of: string; readonly cursor: string } | null>(null)
  const still = useRef(isStill)
  still.current = isStill
  const selection = JSON.stringify([topic, partition, contains, decode, keyDecode])

  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt begins the stream again
  useEffect(() => {
    if (reached.current?.of !== selection) {
      reached.current = null
      setRing(EMPTY_RING)
    }
    setProblem(null)
    if (!isWatched) return
    const left = new AbortController()
    let arrived: ShownRecord[] = []
    const follow = async () => {
      const asked = {
        topic,
        query: { partition, contains, decode, keyDecode, previewBytes: PREVIEW_BYTES },
        cursor: reached.current?.cursor ?? null,
      }
      for await (const event of tail(asked, left.signal)) {
        if (event.kind === 'end') {
          setProblem(event.problem)
          break
        }
        reached.current = { of: selection, cursor: event.cursor }
        if (event.kind === 'begin') setOpen(true)
        else if (event.kind === 'dropped') setRing(before => miss(before, event.count))
        else arrived.push(...event.messages)
      }
    }
    const draw = async () => {
      let quiet = 0
      for (;;) {
        await pause(DRAW_MS, left.signal)
        const drawn = arrived
        arrived = []
        // One quiet moment of a fast stream changes nothing: all rows at once would take long to draw.
        if (drawn.length < MOST_DRAWN_FAST / 2) quiet++
        else quiet = 0
        if (drawn.length > MOST_DRAWN_FAST) setFast(true)
        else if (quiet === QUIET_DRAWS) setFast(false)
        setRing(before => arrive(before, drawn, still.current))
      }
    }
    const isLeft = (error: unknown) => {
      if (!left.signal.aborted) setProblem(asProblem(error))
    }
    follow().catch(isLeft)
    draw().catch(isLeft)
    return () => {
      left.abort()
      setOpen(false)
      // The cursor is after these.
      const drawn = arrived
      setRing(before => arrive(before, drawn, still.current))
    }
  }, [selection, isWatched, attempt])

  useEffect(() => {
    if (!isStill) setRing(release)
  }, [isStill])

  return { ring, isFast, problem, isOpen, show: () => setRing(release), retry: () => setAttempt(before => before + 1) }
}

/** Returns whether the user watches: the page is visible, and the list has not stood still for long. */
function useIsWatched(isStill: boolean): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === 'visible')
  const [isForgotten, setForgotten] = useState(false)
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  useEffect(() => {
    setForgotten(false)
    if (!isStill) return
    const ended = new AbortController()
    pause(MOST_STILL_MS, ended.signal).then(
      () => setForgotten(true),
      () => {
        // The list moves again.
      },
    )
    return () => ended.abort()
  }, [isStill])
  return isVisible && !isForgotten
}
