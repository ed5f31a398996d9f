package io.merganser.merge

import com.fasterxml.jackson.databind.ObjectMapper

/** JSON as it is read and written everywhere, if nothing else is said. */
private[merganser] object Json extends ObjectMapper
