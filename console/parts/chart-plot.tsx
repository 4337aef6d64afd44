// The picture of a chart: uPlot on a canvas. It is loaded only when a chart is on the page. Its words, its
// legend and its table are in chart.tsx.

import './chart.css'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import uPlot from 'uplot'
import { usePreference } from '../shell/preferences.ts'
import { MOST_MS, timeOfDay } from '../text/zone.ts'
import { LOOKS, markedValues, type Series } from './chart-look.ts'
import { useZone } from './time.tsx'

interface PlotProps {
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly tick: (value: number) => string
  readonly isBinary: boolean
  /** The index of the time under the cursor. */
  readonly cursor: number | null
  readonly onCursor: (at: number | null) => void
}

const FONT = '12px system-ui, sans-serif'
const HEIGHT_IN_REM = 11
const MARKER_PX = 5
const GAP_PX = 6
/** Steps of an axis of bytes: 1, 2, 4 … up to 2^60, so that the labels are round in KiB, MiB and GiB. */
const POWERS_OF_TWO = Array.from({ length: 61 }, (_, power) => 2 ** power)

export function Plot({ times, series, tick, isBinary, cursor, onCursor }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const zone = useZone()
  const theme = useTheme()
  // A new format or listener is no reason to draw everything again.
  const latest = useRef({ tick, onCursor, times, series })
  latest.current = { tick, onCursor, times, series }
  const kinds = series.map(({ colour }) => colour).join(' ')

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme decides what `colours` reads
  useEffect(() => {
    const element = place.current!
    const colour = colours(element)
    const muted = colour('muted')
    const grid = { stroke: colour('line'), width: 1 }
    const made = new uPlot(
      {
        width: Math.max(1, element.clientWidth),
        height: element.clientHeight,
        ms: 1,
        legend: { show: false },
        padding: [8, 20, 0, 0],
        scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] } },
        cursor: {
          y: false,
          drag: { x: false, y: false, setScale: false },
          points: { size: 8, width: 0 },
        },
        axes: [
          {
            ...{
              stroke: muted,
              font: FONT,
              grid: { show: false },
              ticks: { ...grid, size: 4 },
              size: 26,
              gap: 2,
              space: 72,
            },
            values: (_, splits) => splits.map(ms => timeOfDay(ms, zone).replace(/:00$/, '')),
          },
          {
            ...{ stroke: muted, font: FONT, grid, ticks: { show: false }, gap: GAP_PX, space: 36 },
            values: (_, splits) => splits.map(value => latest.current.tick(value)),
            size: (self, values) => GAP_PX + Math.ceil(widest(self, values ?? [])),
            ...(isBinary ? { incrs: POWERS_OF_TWO } : {}),
          },
        ],
        series: [
          {},
          ...latest.current.series.map(({ colour: name }) => {
            const look = LOOKS[name]
            const stroke = colour(name)
            return {
              stroke,
              width: 1.5,
              dash: [...look.dash],
              points: {
                show: true,
                size: MARKER_PX,
                fill: stroke,
                width: 0,
                filter: (self: uPlot, at: number) => markedValues(self.data[at] as (number | null)[], look),
              },
            }
          }),
        ],
        tzDate: ms => uPlot.tzDate(new Date(ms), zone),
        hooks: { setCursor: [self => latest.current.onCursor(self.cursor.idx ?? null)] },
      },
      dataOf(latest.current),
      element,
    )
    plot.current = made
    const watch = new ResizeObserver(() => {
      if (element.clientWidth > 0) made.setSize({ width: element.clientWidth, height: element.clientHeight })
    })
    watch.observe(element)
    return () => {
      watch.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [kinds, zone, theme, isBinary])

  useEffect(() => plot.current?.setData(dataOf({ times, series })), [times, series])

  useEffect(() => {
    const made = plot.current
    if (made === null) return
    const at = cursor === null ? undefined : made.data[0][cursor]
    const left = at === undefined ? -10 : made.valToPos(at, 'x')
    if (Math.round(left) !== Math.round(made.cursor.left ?? -10))
      made.setCursor({ left, top: left < 0 ? -10 : 0 }, false)
  }, [cursor])

  return <div ref={place} aria-hidden style={{ height: `${HEIGHT_IN_REM}rem` }} />
}

/**
 * Returns the numbers to draw. An answer may have texts in their place, or numbers that nothing can have: with those,
 * uPlot would look for the labels of an axis until the memory is used up. Without usable times the picture is empty.
 */
function dataOf({ times, series }: Pick<PlotProps, 'times' | 'series'>): uPlot.AlignedData {
  const isUsable = times.every(ms => Math.abs(ms) <= MOST_MS)
  if (!isUsable) return [[], ...series.map(() => [])]
  return [times.map(Number), ...series.map(({ values }) => values.map(drawable))]
}

function drawable(value: number | null): number | null {
  return value !== null && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? Number(value) : null
}

/** Returns the width of the widest label in px. */
function widest({ ctx }: uPlot, labels: readonly string[]): number {
  ctx.save()
  ctx.font = FONT
  const width = Math.max(0, ...labels.map(label => ctx.measureText(label).width))
  ctx.restore()
  return width
}

/** Returns a function that reads a token as a colour for a canvas, in the theme that is shown at the element. */
function colours(element: HTMLElement): (token: string) => string {
  // A custom property keeps its light-dark() as text; only the computed `color` is a colour.
  return token => {
    const probe = document.createElement('span')
    probe.style.color = `var(--color-${token})`
    element.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}

const DARK = '(prefers-color-scheme: dark)'

/** Returns a text that changes with the colours: the chosen theme, and that of the system. */
function useTheme(): string {
  const [theme] = usePreference('theme')
  const isDark = useSyncExternalStore(
    listener => {
      const query = matchMedia(DARK)
      query.addEventListener('change', listener)
      return () => query.removeEventListener('change', listener)
    },
    () => matchMedia(DARK).matches,
  )
  return `${theme} ${isDark}`
}
