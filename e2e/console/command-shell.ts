// A shell in which a test runs the commands that the console shows: a folder of its own that has the tools of this
// checkout under the names by which people call them.

import assert from 'node:assert/strict'
import { chmod, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../../scripts/node24.mjs'
import type { CleanUp } from '../../testing/broker.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { runToEnd } from '../command.ts'
import { JAVA_ARGUMENTS } from '../java/jars.ts'

const MAIN_CLASSES = {
  'kafka-topics': 'org.apache.kafka.tools.TopicCommand',
  'kafka-console-producer': 'org.apache.kafka.tools.ConsoleProducer',
  'kafka-console-consumer': 'org.apache.kafka.tools.consumer.ConsoleConsumer',
  'kafka-consumer-groups': 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
}

export interface CommandShell {
  /** Writes a file of the folder in which the commands run. */
  write(name: string, content: string): Promise<void>
  /**
   * Runs a command and resolves with its output. Throws if it fails. A command that goes on by itself is ended as soon
   * as its output matches `until`.
   */
  run(command: string, until?: RegExp): Promise<string>
}

/** Opens a shell. `ketch` finds the password of its user in the environment. */
export async function openCommandShell(cleanUp: CleanUp, password: string): Promise<CommandShell> {
  const folder = await temporaryFolder(cleanUp, 'ketch-commands-')
  const write = (name: string, content: string) => writeFile(join(folder, name), content)
  const writeProgram = async (name: string, content: string) => {
    await write(name, content)
    await chmod(join(folder, name), 0o755)
  }
  await symlink(process.execPath, join(folder, 'node'))
  await writeProgram('ketch', `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'ketch')}' "$@"\n`)
  for (const [name, main] of Object.entries(MAIN_CLASSES)) {
    const words = [...JAVA_ARGUMENTS, main].map(word => `'${word}'`).join(' ')
    await writeProgram(`${name}.sh`, `#!/bin/sh\nexec java ${words} "$@"\n`)
  }
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, KETCH_PASSWORD: password, HOME: folder }
  return {
    write,
    async run(command, until) {
      // On a terminal each line is shown at once; in a pipe it is with stdbuf.
      const { status, out, err } = await runToEnd(['sh', '-c', until ? `exec stdbuf -oL ${command}` : command], {
        cwd: folder,
        env,
        onOut: (printed, child) => {
          if (until?.test(printed)) child.kill('SIGTERM')
        },
      })
      const hasEnded = until === undefined ? status === 0 : until.test(out)
      assert.ok(hasEnded, `${command} ended with ${status}\n${err}\n${out}`)
      return out
    },
  }
}
