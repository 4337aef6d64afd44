// Health on the command line: without a session what anybody may know, and with --user everything.

import type { Command } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { table } from '../table.ts'

interface Component {
  readonly status: string
  readonly details?: Readonly<Record<string, unknown>>
}

interface Tree {
  readonly status: string
  readonly components: Readonly<Record<string, Component>>
}

interface Full {
  readonly status: string
  readonly details: { readonly components: Readonly<Record<string, Component>> }
}

function componentTable(components: Readonly<Record<string, Component>>): string {
  const rows = Object.entries(components).map(([name, { status, details }]) => {
    return [name, status, details === undefined || Object.keys(details).length === 0 ? '' : JSON.stringify(details)]
  })
  const hasDetails = rows.some(([, , details]) => details !== '')
  return hasDetails
    ? table(['COMPONENT', 'STATUS', 'DETAILS'], rows)
    : table(
        ['COMPONENT', 'STATUS'],
        rows.map(row => row.slice(0, 2)),
      )
}

export const healthCommands: readonly Command[] = [
  {
    name: 'health',
    doc: 'How the broker is. The exit status is 0 when it is up, 1 when it is not, 69 when nobody answers. With --user, the details too.',
    args: [],
    options: {
      ready: { value: null, doc: 'Only whether clients should be sent there.' },
      live: { value: null, doc: 'Only whether the process lives.' },
    },
    async run(call) {
      if (call.has('ready') && call.has('live'))
        throw new CommandFailed(EXIT.USAGE, 'health takes --ready or --live, not both')
      if (call.has('user') && !call.has('ready') && !call.has('live')) {
        const full = await call.api.get<Full>('/api/v1/health')
        call.show(full, () => `${full.status}\n\n${componentTable(full.details.components)}`)
        return full.status === 'UP' ? EXIT.OK : EXIT.REFUSED
      }
      const probe = call.has('ready') ? '/readiness' : call.has('live') ? '/liveness' : ''
      const { body } = await call.api.probe<Tree>(`/actuator/health${probe}`)
      call.show(body, () => `${body.status}\n\n${componentTable(body.components)}`)
      return body.status === 'UP' ? EXIT.OK : EXIT.REFUSED
    },
  },
]
