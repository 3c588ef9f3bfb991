import { Alert } from '@mantine/core';
import classes from './warnings.module.css';

interface Warning {
  code: string;
  message: string;
  path: string | null;
  line: number | null;
}

/** What the server left out or could not use, each with its place in the repository. */
export function Warnings({ warnings }: { warnings: readonly Warning[] }) {
  if (warnings.length === 0) return null;
  return (
    <Alert color="yellow">
      <ul className={classes.list}>
        {warnings.map(({ code, message, path, line }) => (
          <li key={`${code} ${path} ${line} ${message}`}>
            {message}
            {path !== null && (
              <>
                {' '}
                <code>{line === null ? path : `${path}:${line}`}</code>
              </>
            )}
          </li>
        ))}
      </ul>
    </Alert>
  );
}
