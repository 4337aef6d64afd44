// Starts parts one after the other and ends them in reverse order. Each step names a part, starts it with the results
// of the steps before it, and may define how it ends. The types enforce the order: a step cannot use the result of a
// later step. This file knows none of the parts.

export interface StartOrder<Given extends object, Made extends object> {
  /** Adds a step behind the others. `start` returns the result of the step. A step without `end` needs no end. */
  step<Part extends object>(
    name: string,
    start: (made: Made) => Part | Promise<Part>,
    end?: (made: Made & Part) => unknown,
  ): StartOrder<Given, Made & Part>
  /** Runs the steps in order. If a step throws, ends the steps before it and throws its error. */
  start(given: Given): Promise<Started<Made>>
}

export interface Started<Made> {
  readonly made: Made
  /** The names of the steps that are not ended yet, in their order. */
  open(): readonly string[]
  /** Ends the steps, the last one first. */
  end(): Promise<void>
}

interface Step {
  readonly name: string
  readonly start: (made: object) => object | Promise<object>
  readonly end: ((made: object) => unknown) | null
}

export function startOrder<Given extends object>(): StartOrder<Given, Given> {
  return orderOf<Given, Given>([])
}

function orderOf<Given extends object, Made extends object>(steps: readonly Step[]): StartOrder<Given, Made> {
  return {
    step(name, start, end) {
      return orderOf([...steps, { name, start, end: end ?? null } as Step])
    },

    async start(given) {
      const made: object = { ...given }
      const open: Step[] = []
      const end = async () => {
        for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
          await last.end?.(made)
          open.pop()
        }
      }
      try {
        for (const step of steps) {
          Object.assign(made, await step.start(made))
          if (step.end !== null) open.push(step)
        }
      } catch (error) {
        await end()
        throw error
      }
      return { made: made as Made, open: () => open.map(({ name }) => name), end }
    },
  }
}
