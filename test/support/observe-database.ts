import type { AllServices } from '../../src/domain/services.ts';

/**
 * Notes every statement.
 * @param delay milliseconds that each waits first
 */
export function observeDatabase(
  { orm }: Pick<AllServices, 'orm'>,
  note: (statement: string) => void,
  delay: () => number = () => 0,
): void {
  const connection = orm.em.getConnection();
  const execute = connection.execute.bind(connection);
  connection.execute = (async (...given: Parameters<typeof execute>) => {
    note(String(given[0]));
    if (delay() > 0) await new Promise((resolve) => setTimeout(resolve, delay()));
    return execute(...given);
  }) as typeof connection.execute;
}
