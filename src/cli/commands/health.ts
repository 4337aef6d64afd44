// Health on the command line: the statuses without a session, and the details with --user.

import type { ActuatorHealth, HealthComponents, HealthInFull } from '../../api/health.ts'
import type { Command } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { table } from '../table.ts'

function componentTable(components: HealthComponents): string {
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
    doc: 'Shows the health of the broker, with --user in detail. The exit status is 0 if it is up, 1 if it is not, 69 if no broker answers.',
    args: [],
    options: {
      ready: { value: null, doc: 'Asks only whether the broker is ready for clients.' },
      live: { value: null, doc: 'Asks only whether the process lives.' },
    },
    async run(call) {
      if (call.has('ready') && call.has('live'))
        throw new CommandFailed(EXIT.USAGE, 'health takes --ready or --live, not both')
      if (call.has('user') && !call.has('ready') && !call.has('live')) {
        const full = await call.api.get<HealthInFull>('/api/v1/health')
        call.show(full, () => `${full.status}\n\n${componentTable(full.details.components)}`)
        return full.status === 'UP' ? EXIT.OK : EXIT.REFUSED
      }
      const probe = call.has('ready') ? '/readiness' : call.has('live') ? '/liveness' : ''
      const { body } = await call.api.probe<ActuatorHealth>(`/actuator/health${probe}`)
      call.show(body, () => `${body.status}\n\n${componentTable(body.components)}`)
      return body.status === 'UP' ? EXIT.OK : EXIT.REFUSED
    },
  },
]
