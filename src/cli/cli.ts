import { parseArgs } from 'node:util';
import { type Command, type Surroundings, UsageError, type Values } from './command.ts';
import { backupCommand, restoreCommand } from './commands/backup.ts';
import { checkCommand } from './commands/check.ts';
import { importCommand } from './commands/import.ts';
import { configCommand, organizationCreate } from './commands/instance.ts';
import { keysRotate, keysStatus } from './commands/keys.ts';
import { tokenCreate, tokenList, tokenRevoke } from './commands/tokens.ts';
import { usersAdd, usersDisable, usersEnable, usersList, usersReset } from './commands/users.ts';
import { table } from './screen.ts';

const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`);

/** The overview: what commands there are. */
function overview(commands: readonly Command[]): string[] {
  return [
    'Usage: portico <command> [options]',
    '',
    ...indented(
      table([...commands.map(({ name, summary }) => [name, summary]), ['help [command]', 'Show this, or one command']]),
    ),
    '',
    'Commands work on the data directory (PORTICO_DATA_DIR) or on DATABASE_URL, with the server running or not.',
  ];
}

/** The usage line of one command. */
const usageLine = ({ name, synopsis }: Command) => `Usage: portico ${name} ${synopsis}`.trimEnd();

/** All about one command. */
function helpOf(command: Command): string[] {
  const notes = command.notes ? ['', ...indented(table(command.notes))] : [];
  return [usageLine(command), '', `${command.summary}.`, ...notes];
}

const commands: readonly Command[] = [
  importCommand,
  backupCommand,
  restoreCommand,
  checkCommand,
  organizationCreate,
  tokenCreate,
  tokenList,
  tokenRevoke,
  usersList,
  usersAdd,
  usersReset,
  usersDisable,
  usersEnable,
  configCommand,
  keysStatus,
  keysRotate,
];

/** How a command ended, as the shell sees it; one that a signal stopped has 128 and the signal's number. */
export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const;

/** The command named by the first one or two words of the line; the longest name first. */
function find(words: readonly string[]): Command | undefined {
  return commands.find(({ name }) => name.split(' ').every((word, at) => words[at] === word));
}

function parse(command: Command, argv: readonly string[]): { words: string[]; values: Values } {
  const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
  try {
    const { positionals, values } = parseArgs({ args: [...argv], options, allowPositionals: true });
    return { words: positionals, values };
  } catch (error) {
    // Only the first sentence: the others explain how to pass words that begin with a hyphen.
    throw new UsageError((error as Error).message.split('. ')[0]);
  }
}

/** The words come first in a synopsis, so its part of that number names the missing one. */
function checkWords({ words: [least, most], synopsis }: Command, words: readonly string[]): void {
  if (words.length < least) throw new UsageError(`${synopsis.split(' ')[words.length]} is missing`);
  if (words.length > most) throw new UsageError(`Unexpected ${words[most]}`);
}

/** The first line of what went wrong; errors of the network have their text in their parts. */
function sentenceOf(error: unknown): string {
  const parts = error instanceof AggregateError ? error.errors : [error];
  const text = parts.map((part) => (part instanceof Error ? part.message : String(part))).find(Boolean);
  return (text ?? 'Something went wrong').split('\n')[0] ?? '';
}

function help(words: readonly string[], { screen }: Surroundings): number {
  const command = find(words);
  if (words.length > 0 && !command) {
    screen.note(`portico: unknown command ${words.join(' ')}`);
    return exitCodes.usage;
  }
  for (const line of command ? helpOf(command) : overview(commands)) screen.print(line);
  return exitCodes.ok;
}

/**
 * Carries out one command line. Refusals become one line on standard error, never a stack.
 * @returns the exit code.
 */
export async function runCli(argv: readonly string[], surroundings: Surroundings): Promise<number> {
  const { screen } = surroundings;
  const [first = ''] = argv;
  if (first === '--version' || first === '-v') {
    screen.print(surroundings.version);
    return exitCodes.ok;
  }
  if (['help', '--help', '-h'].includes(first)) return help(argv.slice(1), surroundings);
  const command = find(argv);
  if (!command) {
    screen.note(first === '' ? 'portico: name a command' : `portico: unknown command ${argv.slice(0, 2).join(' ')}`);
    for (const line of overview(commands)) screen.note(line);
    return exitCodes.usage;
  }
  try {
    const { words, values } = parse(command, argv.slice(command.name.split(' ').length));
    if (values.help) return help(command.name.split(' '), surroundings);
    checkWords(command, words);
    await command.run(words, values, surroundings);
    return exitCodes.ok;
  } catch (error) {
    screen.note(`portico: ${sentenceOf(error)}`);
    if (!(error instanceof UsageError)) return exitCodes.failed;
    screen.note(usageLine(command));
    return exitCodes.usage;
  }
}
