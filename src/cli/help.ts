import type { Command } from './command.ts';
import { table } from './screen.ts';

const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`);

/** The overview: what commands there are. */
export function overview(commands: readonly Command[]): string[] {
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
export const usageLine = ({ name, synopsis }: Command) => `Usage: portico ${name} ${synopsis}`.trimEnd();

/** All about one command. */
export function helpOf(command: Command): string[] {
  const notes = command.notes ? ['', ...indented(table(command.notes))] : [];
  return [usageLine(command), '', `${command.summary}.`, ...notes];
}
