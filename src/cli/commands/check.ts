import { checkProject, type Problem as Finding, findRemains } from '../../domain/backups/check-project.operations.ts';
import { checkKeys } from '../../domain/keys/data-keys.ts';
import { type Command, type CommandCore, call, Problem } from '../command.ts';
import { everyProject, projectName, shownName } from '../project-name.ts';
import { plural, type Screen } from '../screen.ts';

/** What was looked at, and what is wrong with it. */
interface Report {
  subject: string;
  problems: Finding[];
}

/** `portico check` */
export const checkCommand: Command = {
  name: 'check',
  summary: 'Check the integrity of a project, or of all and of the keyring',
  synopsis: '[<organization>/<project>] [--json]',
  notes: [['--json', 'one JSON document: {ok, checked: [{subject, problems: [{code, message, advice}]}]}']],
  options: { json: { type: 'boolean' } },
  words: [0, 1],
  async run([word], { json }, { open, screen, signal }) {
    // With JSON output scripts get the document alone.
    const tools = { signal, onPhase: (head: string) => (json ? undefined : screen.progress(head)) };
    const one = word === undefined ? null : projectName(word);
    const core = await open();
    const reports: Report[] = [];
    for await (const report of one ? checkOne(core, one, tools) : checkAll(core, tools)) {
      reports.push(report);
      if (!json) printReport(screen, report);
    }
    const found = reports.reduce((sum, { problems }) => sum + problems.length, 0);
    if (json) screen.print(JSON.stringify({ ok: found === 0, checked: reports }, null, 2));
    if (found > 0) throw new Problem(`${plural(found, 'problem')} found`);
  },
};

interface Tools {
  signal: AbortSignal;
  onPhase(head: string): void;
}

async function* checkOne(
  { services }: CommandCore,
  project: { organization: string; project: string },
  { signal, onPhase }: Tools,
): AsyncGenerator<Report> {
  const subject = shownName(project);
  const { problems } = await call(
    services,
    checkProject,
    { ...project },
    { signal, onPhase: (phase) => onPhase(`${subject}: ${phase}`) },
  );
  yield { subject, problems };
}

async function* checkAll(core: CommandCore, tools: Tools): AsyncGenerator<Report> {
  for (const project of await everyProject(core.services)) {
    tools.signal.throwIfAborted();
    yield* checkOne(core, project, tools);
  }
  yield { subject: 'data directory', problems: (await call(core.services, findRemains, {})).problems };
  yield { subject: 'keyring', problems: await checkKeyring(core) };
}

async function checkKeyring({ services, keys }: CommandCore): Promise<Finding[]> {
  const { missing, unreadable } = await checkKeys({ kms: keys, em: services.orm.em });
  const advice = 'put back the copy of the keyring that was kept; without it these secrets have to be entered again';
  return [
    ...missing.map((id): Finding => ({ code: 'key_missing', message: `key ${id} is not in the keyring`, advice })),
    ...unreadable.map(({ organization_id, kek_id, fault }): Finding => {
      const message = `the secrets of organisation ${organization_id} do not open under key ${kek_id}: ${fault}`;
      return { code: 'key_unreadable', message, advice };
    }),
  ];
}

function printReport(screen: Screen, { subject, problems }: Report): void {
  screen.print(`${subject}: ${problems.length === 0 ? 'sound' : plural(problems.length, 'problem')}`);
  for (const [at, { message, advice }] of problems.entries()) {
    screen.print(`  ${message}`);
    // Printed once for consecutive faults with the same remedy.
    if (problems[at + 1]?.advice !== advice) screen.print(`    What to do: ${advice}`);
  }
}
