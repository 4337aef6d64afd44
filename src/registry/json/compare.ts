// Whether a reader can read all that a writer writes, by the rules of Confluent, and if not, why. Two passes:
// the first one finds the verdict and stops at the first reason; the second one collects reasons where the verdict is
// no. The rules themselves are in compare-*.ts.
//
// A pair of schemas is compared once, however many ways lead to it. A pair that is met again while it is being compared
// counts as compatible, so a schema that refers to itself is compatible with itself. A verdict that rests on such an
// assumption is kept only once the assumption has come true (Tarjan's order of strongly connected components): all
// rules are monotone, so a no stays a no, and a yes is taken back if the pair that it assumed turns out to be a no.
//
// The way is not the call stack: each pair is a generator on a stack of its own, because thousands of definitions that
// refer to each other make chains as long.

import type { Difference, Policy } from '../format.ts'
import { compareKinds, quickVerdict } from './compare-kinds.ts'
import { type Change, EXPLANATIONS, isAccepted } from './differences.ts'
import type { Findings, Pair, Steps } from './findings.ts'
import type { Node, Part } from './nodes.ts'

/** Returns the reasons why `update` cannot read what `original` writes; empty if it can. At most MOST_REASONS. */
export function differences(original: Part, update: Part, policy: Policy): readonly Difference[] {
  return new Comparison(policy).reasons({ original: original.node, update: update.node })
}

/** The most reasons that a comparison gives (format.ts). */
const MOST_REASONS = 100

/** How often the second pass explains a pair that it has explained at another place. */
const MOST_REPEATS = 1_000

/** An incompatible pair that has to be explained. */
interface Blamed {
  readonly path: string
  readonly pair: Pair
  readonly outer: Blamed | null
}

interface Frame {
  readonly key: number
  readonly steps: Steps
  readonly findings: Verdict
  /** The lowest frame whose outcome is assumed in this one; its own place if none is lower. */
  low: number
  /** Where the verdicts begin that rest on assumptions and were found since. */
  readonly provisionalFrom: number
}

/** More nodes than a schema of the largest size can have. */
const MOST_NODES = 2 ** 26
const NO = -1
const YES = Number.POSITIVE_INFINITY

class Comparison {
  readonly #policy: Policy
  readonly #ids = new Map<Node, number>()
  /** NO, YES, or the lowest frame that the yes assumes. */
  readonly #verdicts = new Map<number, number>()
  readonly #provisional: number[] = []
  readonly #places = new Map<number, number>()
  readonly #stack: Frame[] = []

  constructor(policy: Policy) {
    this.#policy = policy
  }

  reasons(root: Pair): readonly Difference[] {
    const found: Difference[] = []
    if (this.#isCompatible(root)) return found
    // A pair is explained at each place where it stands, but a pair inside itself would be explained for ever.
    const seen = new Set<number>([this.#keyOf(root)])
    let repeats = MOST_REPEATS
    const waiting: Blamed[] = [{ path: '', pair: root, outer: null }]
    for (const blamed of waiting) {
      const reasons = new Reasons(this.#policy, blamed, found)
      const steps = compareKinds(reasons, blamed.pair)
      for (let step = steps.next(); !step.done && !reasons.isDone; ) step = steps.next(this.#isCompatible(step.value))
      if (reasons.isDone) break
      for (const inner of reasons.blamed) {
        const key = this.#keyOf(inner.pair)
        if (seen.has(key) && (isInside(inner) || --repeats < 0)) continue
        seen.add(key)
        waiting.push(inner)
      }
    }
    return found
  }

  #isCompatible(root: Pair): boolean {
    const known = this.#known(root, null)
    if (known !== undefined) return known
    this.#begin(root)
    for (let answer = false; ; ) {
      const frame = this.#stack.at(-1)!
      const step = frame.findings.isDone ? DONE : frame.steps.next(answer)
      if (!step.done) {
        const known = this.#known(step.value, frame)
        if (known === undefined) this.#begin(step.value)
        else answer = known
        continue
      }
      answer = this.#end(frame)
      if (this.#stack.length === 0) return answer
    }
  }

  /** The verdict of a pair that needs no comparison, or has had it, or is in it. */
  #known(pair: Pair, frame: Frame | null): boolean | undefined {
    const quick = quickVerdict(pair)
    if (quick !== undefined) return quick
    const key = this.#keyOf(pair)
    const verdict = this.#verdicts.get(key) ?? this.#places.get(key)
    if (verdict === undefined) return undefined
    if (frame !== null && verdict !== NO) frame.low = Math.min(frame.low, verdict)
    return verdict !== NO
  }

  #begin(pair: Pair): void {
    const key = this.#keyOf(pair)
    const place = this.#stack.length
    const findings = new Verdict(this.#policy)
    this.#places.set(key, place)
    this.#stack.push({
      key,
      steps: compareKinds(findings, pair),
      findings,
      low: place,
      provisionalFrom: this.#provisional.length,
    })
  }

  #end(frame: Frame): boolean {
    this.#stack.pop()
    this.#places.delete(frame.key)
    const place = this.#stack.length
    const inside = this.#provisional.slice(frame.provisionalFrom)
    if (!frame.findings.isCompatible) {
      this.#provisional.length = frame.provisionalFrom
      for (const key of inside) this.#verdicts.delete(key)
      this.#verdicts.set(frame.key, NO)
      return false
    }
    const isCertain = frame.low >= place
    for (const key of [...inside, frame.key]) this.#verdicts.set(key, isCertain ? YES : frame.low)
    if (isCertain) this.#provisional.length = frame.provisionalFrom
    else {
      this.#provisional.push(frame.key)
      const outer = this.#stack.at(-1)!
      outer.low = Math.min(outer.low, frame.low)
    }
    return true
  }

  #keyOf({ original, update }: Pair): number {
    return this.#idOf(original) * MOST_NODES + this.#idOf(update)
  }

  #idOf(node: Node): number {
    const known = this.#ids.get(node)
    if (known !== undefined) return known
    this.#ids.set(node, this.#ids.size)
    return this.#ids.size - 1
  }
}

const DONE = { done: true, value: undefined } as const

/** Only the verdict is wanted. */
class Verdict implements Findings {
  readonly #policy: Policy
  isCompatible = true

  constructor(policy: Policy) {
    this.#policy = policy
  }

  get isDone(): boolean {
    return !this.isCompatible
  }

  note(change: Change): void {
    if (!isAccepted(change, this.#policy)) this.isCompatible = false
  }

  blame(): void {
    this.isCompatible = false
  }
}

/** All reasons are wanted. */
class Reasons implements Findings {
  readonly #policy: Policy
  readonly #of: Blamed
  readonly #found: Difference[]
  readonly blamed: Blamed[] = []

  constructor(policy: Policy, of: Blamed, found: Difference[]) {
    this.#policy = policy
    this.#of = of
    this.#found = found
  }

  get isDone(): boolean {
    return this.#found.length >= MOST_REASONS
  }

  note(change: Change, at = '', was: unknown = '', is: unknown = ''): void {
    if (this.isDone || isAccepted(change, this.#policy)) return
    const path = `#${this.#of.path}${at}`
    const explained = EXPLANATIONS[change](short(was), short(is))
    this.#found.push({ type: change, path, description: explained })
  }

  blame(at: string, pair: Pair): void {
    this.blamed.push({ path: this.#of.path + at, pair, outer: this.#of })
  }
}

function isInside({ pair, outer }: Blamed): boolean {
  for (let around = outer; around !== null; around = around.outer) {
    if (around.pair.original === pair.original && around.pair.update === pair.update) return true
  }
  return false
}

/** A value of a schema in a sentence. */
function short(value: unknown): string {
  const text = value instanceof Set ? [...value].slice(0, 20).join(', ') : String(value)
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`
}
