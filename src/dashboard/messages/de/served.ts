/**
 * Texts of the server that it gives in English, by their codes (`lib/served-text.ts`): why a reply of the assistant ended, what it wants to do, and
 * the messages of its ready-made tasks. English has none: there the server's own are shown.
 */
export default {
  problem_stopped: 'Angehalten',
  problem_time: 'Die Antwort wurde nach 10 Minuten beendet; schreiben Sie „weiter“, um fortzufahren.',
  problem_steps: 'Die Antwort wurde nach {{steps}} Schritten beendet; schreiben Sie „weiter“, um fortzufahren.',
  problem_no_access: 'Sie haben keinen Zugang mehr zu diesem Projekt.',
  problem_same_call: 'Das Modell hat {{tool}} {{times}}-mal gleich aufgerufen und wurde angehalten.',
  problem_bad_calls: 'Das Modell hat {{calls}}-mal nacheinander falsche Angaben gemacht und wurde angehalten.',
  problem_internal:
    'Die Antwort ist auf dem Server gescheitert; der Grund steht in seinem Protokoll. Versuchen Sie es noch einmal.',
  problem_limit_reached: 'Diese Unterhaltung ist voll. Beginnen Sie eine neue.',
  problem_tokens_used:
    'Die Tokens dieser Unterhaltung oder der Organisation sind aufgebraucht. Beginnen Sie eine neue Unterhaltung, oder bitten Sie Ihre Verwaltung um mehr.',
  problem_model_key: 'Der Anbieter des Modells nimmt den Schlüssel nicht an.',
  problem_model_address: 'Die Adresse des Modells ist falsch oder darf von hier nicht erreicht werden.',
  problem_model_unreachable: 'Das Modell ist nicht zu erreichen. Versuchen Sie es später noch einmal.',
  problem_model_redirected: 'Die Adresse des Modells leitet auf eine andere weiter, der nicht gefolgt wird.',
  problem_model_rate_limited:
    'Der Anbieter des Modells nimmt gerade keine Anfragen mehr an. Versuchen Sie es in einigen Minuten noch einmal.',
  problem_model_overloaded: 'Das Modell ist überlastet. Versuchen Sie es später noch einmal.',
  problem_model_slow: 'Das Modell hat zu lange nichts geschickt; seine Antwort wurde aufgegeben.',
  problem_model_cut: 'Die Antwort des Modells ist abgebrochen. Versuchen Sie es noch einmal.',
  problem_model_malformed: 'Die Antwort des Modells ist nicht zu gebrauchen. Versuchen Sie es noch einmal.',
  problem_model_too_long: 'Die Antwort des Modells ist zu lang. Fragen Sie nach weniger auf einmal.',
  problem_model_refused: 'Der Anbieter des Modells hat die Anfrage abgelehnt.',

  consent_delete_entry: '{{entry}} in der Fassung {{sha}} aus {{branch}} löschen',
  consent_delete_media: 'die Datei {{media}} in der Fassung {{sha}} aus {{branch}} löschen',
  consent_merge_branches: '{{head}} (Stand {{head_sha}}) in {{base}} (Stand {{base_sha}}) übernehmen',
  consent_merge_pull: 'die Durchsicht {{number}} ({{head}}, Stand {{head_sha}}) in {{base}} übernehmen',
  consent_create_branch: 'den Entwurf {{name}} von der veröffentlichten Fassung beginnen',
  consent_create_branch_from: 'den Entwurf {{name}} von {{from}} beginnen',
  consent_create_pull:
    '{{head}} unter dem Titel „{{title}}“ zur Durchsicht für die veröffentlichte Fassung vorschlagen',
  consent_create_pull_for: '{{head}} unter dem Titel „{{title}}“ zur Durchsicht für {{base}} vorschlagen',
  consent_call: '{{tool}}: {{arguments}}',

  task_improve_text: `Verbessern Sie den Text des Eintrags {{collection}}/{{entry}}.

Lesen Sie ihn mit get_entry, und zwei oder drei andere Einträge seiner Sammlung, um den Ton der Website zu treffen. Machen Sie Sätze klarer und kürzer, wo das hilft. Lassen Sie Tatsachen, Überschriften, Links, Code, Shortcodes und Komponenten, wie sie sind. Speichern Sie mit update_entry, und zählen Sie auf, was Sie geändert haben.`,
  task_write_description: `Schreiben Sie eine Beschreibung für den Eintrag {{collection}}/{{entry}}.

Lesen Sie ihn mit get_entry, und mit get_schema sein Schema, um das Feld für Beschreibungen zu finden. Schreiben Sie ein oder zwei Sätze von höchstens 155 Zeichen, die sagen, worum es auf der Seite geht, in deren Sprache, ohne Anführungszeichen und Auszeichnungen. Speichern Sie mit update_entry, und ändern Sie sonst nichts.`,
  task_translate_entry: `Übersetzen Sie den Eintrag {{collection}}/{{entry}} in: {{languages}} (ist hier nichts genannt, in jede Sprache der Website, in der er fehlt).

Finden Sie mit search_entries und seinem translation_key heraus, welche Übersetzungen es gibt und wie die Website deren Dateien nennt. Übersetzen Sie Titel, Beschreibung, andere Texte der Felder und den Text. Lassen Sie Datumsangaben, Verweise, Pfade von Bildern, Code, Shortcodes und Komponenten, wie sie sind. Legen Sie jede Übersetzung mit create_entry und ihrer Sprache an.`,
  task_write_alt_texts: `Ergänzen Sie bei den Bildern des Eintrags {{collection}}/{{entry}}, die keinen haben, einen Alternativtext.

Lesen Sie ihn mit get_entry. Leiten Sie jeden Text aus den Wörtern um das Bild, seinem Dateinamen und list_media ab; sagen Sie in wenigen Worten, was es jemandem zeigt, der es nicht sehen kann. Lassen Sie den Text bei Bildern leer, die nur schmücken, und sagen Sie, wo Sie unsicher sind. Speichern Sie alle mit einem update_entry.`,
  task_mend_broken_links: `Bringen Sie kaputte Links dieser Website in Ordnung.

Bekannte kaputte Links: {{links}}

Finden Sie mit search_entries die Einträge, in denen sie stehen, und lesen Sie diese mit get_entry. Ein Link auf eine Seite dieser Website, die umbenannt wurde, wird berichtigt: suchen Sie ihre neue Adresse unter den Einträgen. Lassen Sie Links auf andere Websites, wie sie sind, ebenso die, deren Ziel nicht klar ist, und zählen Sie beide auf. Speichern Sie jeden Eintrag mit update_entry.`,
  task_make_entries: `Legen Sie aus dieser Liste Einträge der Sammlung {{collection}} an:

{{list}}

Lesen Sie das Schema mit get_schema, und einen Eintrag der Sammlung als Beispiel. Legen Sie mit create_entry für jeden Punkt einen Eintrag an; nehmen Sie seine Werte aus der Liste, und lassen Sie weg, was die Liste nicht sagt. Zählen Sie dann auf, was Sie angelegt haben und welche Pflichtfelder noch leer sind.`,
  task_explain_deployment: `Erklären Sie, warum die Bereitstellung {{deployment}} gescheitert ist.

Lesen Sie sie mit get_deployment. Das Ende ihres Protokolls:

{{log}}

Lesen Sie mit read_file die Dateien, die das Protokoll nennt. Sagen Sie in einfachen Worten, was schiefgegangen ist, in welcher Datei und Zeile, und welche Änderung es behebt. Ändern Sie nichts, bevor ich zustimme.`,
};
